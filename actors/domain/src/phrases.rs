//! Sentences that an agent says by itself, in its language, if a provider fails or a call has to end.

/// Sentences of one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phrases {
    /// Said in turn while an answer takes long. None if the language is unknown, because another language is
    /// worse than silence.
    pub fillers: &'static [&'static str],
    /// Said once if no answer came.
    pub pardon: &'static str,
    /// Said if the agent has to give up.
    pub broken: &'static str,
    /// Said when the call has reached its time limit.
    pub time_is_up: &'static str,
    /// Said before the call is transferred.
    pub handing_on: &'static str,
    /// Said if nobody could be reached there.
    pub nobody_there: &'static str,
    /// Said after the media connection was lost for a moment.
    pub cut_off: &'static str,
    /// Said by the node that takes over the call, before it continues.
    pub lost_you: &'static str,
    /// Said to somebody who asked never to be called again.
    pub opted_out: &'static str,
    /// Asked if somebody may have asked for that. It can be answered with a plain yes or no; a question with
    /// "not" in it would be answered both ways.
    pub opt_out_meant: &'static str,
}

const ENGLISH: Phrases = Phrases {
    fillers: &["One moment, please.", "Just a second.", "I'm still here, one moment."],
    pardon: "Sorry, could you say that again?",
    broken: "I'm sorry, something is not working on our side. Goodbye.",
    time_is_up: "I'm afraid our time is up. Goodbye.",
    handing_on: "One moment, I'll put you through.",
    nobody_there: "I'm sorry, nobody could be reached there. Is there something I can do for you?",
    cut_off: "Sorry, the line was gone for a moment. Are you still there?",
    lost_you: "Sorry, I lost you for a moment.",
    opted_out: "Understood, we won't call you again. Goodbye.",
    opt_out_meant: "Do you want us never to call you again?",
};

const OTHERS: [(&str, Phrases); 10] = [
    (
        "de",
        Phrases {
            fillers: &[
                "Einen Moment, bitte.",
                "Eine Sekunde noch.",
                "Ich bin noch da, einen Moment.",
            ],
            pardon: "Entschuldigung, können Sie das bitte wiederholen?",
            broken: "Es tut mir leid, bei uns funktioniert gerade etwas nicht. Auf Wiederhören.",
            time_is_up: "Unsere Zeit ist leider um. Auf Wiederhören.",
            handing_on: "Einen Moment, ich verbinde Sie.",
            nobody_there: "Es tut mir leid, dort ist niemand zu erreichen. Kann ich etwas für Sie tun?",
            cut_off: "Entschuldigung, die Leitung war kurz weg. Sind Sie noch da?",
            lost_you: "Entschuldigung, ich hatte Sie kurz verloren.",
            opted_out: "Verstanden, wir rufen Sie nicht mehr an. Auf Wiederhören.",
            opt_out_meant: "Möchten Sie, dass wir Sie nie wieder anrufen?",
        },
    ),
    (
        "es",
        Phrases {
            fillers: &["Un momento, por favor.", "Un segundo.", "Sigo aquí, un momento."],
            pardon: "Perdone, ¿puede repetirlo, por favor?",
            broken: "Lo siento, algo no funciona por nuestra parte. Adiós.",
            time_is_up: "Lo siento, se nos ha acabado el tiempo. Adiós.",
            handing_on: "Un momento, le paso la llamada.",
            nobody_there: "Lo siento, no hay nadie disponible. ¿Puedo ayudarle yo?",
            cut_off: "Perdone, se ha cortado la línea un momento. ¿Sigue ahí?",
            lost_you: "Perdone, le he perdido un momento.",
            opted_out: "Entendido, no volveremos a llamarle. Adiós.",
            opt_out_meant: "¿Quiere que no le llamemos nunca más?",
        },
    ),
    (
        "fr",
        Phrases {
            fillers: &[
                "Un instant, s'il vous plaît.",
                "Une seconde.",
                "Je suis toujours là, un instant.",
            ],
            pardon: "Pardon, pouvez-vous répéter, s'il vous plaît ?",
            broken: "Je suis désolé, quelque chose ne fonctionne pas chez nous. Au revoir.",
            time_is_up: "Notre temps est malheureusement écoulé. Au revoir.",
            handing_on: "Un instant, je vous mets en relation.",
            nobody_there: "Je suis désolé, personne n'est joignable. Puis-je vous aider ?",
            cut_off: "Pardon, la ligne a été coupée un instant. Êtes-vous toujours là ?",
            lost_you: "Excusez-moi, la ligne a coupé un instant.",
            opted_out: "C'est compris, nous ne vous appellerons plus. Au revoir.",
            opt_out_meant: "Souhaitez-vous que nous ne vous appelions plus jamais ?",
        },
    ),
    (
        "hi",
        Phrases {
            fillers: &["एक मिनट रुकिए।", "बस एक सेकंड।", "मैं यहीं हूँ, एक मिनट।"],
            pardon: "माफ़ कीजिए, क्या आप फिर से बोल सकते हैं?",
            broken: "माफ़ कीजिए, हमारी तरफ़ कुछ गड़बड़ी है। नमस्ते।",
            time_is_up: "माफ़ कीजिए, हमारा समय समाप्त हो गया है। नमस्ते।",
            handing_on: "एक क्षण, मैं आपको जोड़ता हूँ।",
            nobody_there: "माफ़ कीजिए, वहाँ कोई उपलब्ध नहीं है। क्या मैं आपकी मदद कर सकता हूँ?",
            cut_off: "माफ़ कीजिए, लाइन एक क्षण के लिए कट गई थी। क्या आप वहाँ हैं?",
            lost_you: "माफ़ कीजिए, एक पल के लिए संपर्क टूट गया था।",
            opted_out: "समझ गया, हम आपको दोबारा कॉल नहीं करेंगे। नमस्ते।",
            opt_out_meant: "क्या आप चाहते हैं कि हम आपको दोबारा कभी कॉल न करें?",
        },
    ),
    (
        "it",
        Phrases {
            fillers: &[
                "Un momento, per favore.",
                "Solo un secondo.",
                "Sono ancora qui, un momento.",
            ],
            pardon: "Scusi, può ripetere, per favore?",
            broken: "Mi dispiace, qualcosa da parte nostra non funziona. Arrivederci.",
            time_is_up: "Purtroppo il nostro tempo è finito. Arrivederci.",
            handing_on: "Un momento, la metto in contatto.",
            nobody_there: "Mi dispiace, non risponde nessuno. Posso aiutarla io?",
            cut_off: "Mi scusi, la linea è caduta per un momento. È ancora lì?",
            lost_you: "Mi scusi, la linea si è interrotta per un momento.",
            opted_out: "Capito, non la chiameremo più. Arrivederci.",
            opt_out_meant: "Vuole che non la chiamiamo mai più?",
        },
    ),
    (
        "ja",
        Phrases {
            fillers: &["少々お待ちください。", "もう少しお待ちください。"],
            pardon: "申し訳ございません、もう一度おっしゃっていただけますか。",
            broken: "申し訳ございません、こちらのシステムに問題が発生しました。失礼いたします。",
            time_is_up: "申し訳ございません、お時間となりました。失礼いたします。",
            handing_on: "少々お待ちください、おつなぎします。",
            nobody_there: "申し訳ございません、担当者につながりませんでした。私でお手伝いできることはありますか？",
            cut_off: "失礼しました、回線が一瞬切れました。お聞きになれますか？",
            lost_you: "失礼しました、お声が一瞬途切れました。",
            opted_out: "承知いたしました。今後お電話はいたしません。失礼いたします。",
            opt_out_meant: "今後お電話を差し上げないほうがよろしいですか？",
        },
    ),
    (
        "nl",
        Phrases {
            fillers: &[
                "Een moment, alstublieft.",
                "Nog een seconde.",
                "Ik ben er nog, een moment.",
            ],
            pardon: "Sorry, kunt u dat herhalen?",
            broken: "Het spijt me, er werkt iets niet aan onze kant. Tot ziens.",
            time_is_up: "Helaas is onze tijd om. Tot ziens.",
            handing_on: "Een moment, ik verbind u door.",
            nobody_there: "Het spijt me, daar is niemand bereikbaar. Kan ik iets voor u doen?",
            cut_off: "Sorry, de lijn was even weg. Bent u er nog?",
            lost_you: "Sorry, ik was u even kwijt.",
            opted_out: "Begrepen, we bellen u niet meer. Tot ziens.",
            opt_out_meant: "Wilt u dat we u nooit meer bellen?",
        },
    ),
    (
        "pl",
        Phrases {
            fillers: &["Chwileczkę, proszę.", "Jeszcze sekundę.", "Jestem tu, chwileczkę."],
            pardon: "Przepraszam, czy można prosić o powtórzenie?",
            broken: "Przepraszam, coś po naszej stronie nie działa. Do widzenia.",
            time_is_up: "Niestety nasz czas minął. Do widzenia.",
            handing_on: "Chwileczkę, już łączę.",
            nobody_there: "Przykro mi, nikt nie odbiera. Czy mogę w czymś pomóc?",
            cut_off: "Przepraszam, połączenie na chwilę się zerwało. Czy jest Pan lub Pani nadal przy telefonie?",
            lost_you: "Przepraszam, na chwilę straciliśmy połączenie.",
            opted_out: "Rozumiem, nie będziemy już dzwonić. Do widzenia.",
            opt_out_meant: "Czy mamy już nigdy do Pana lub Pani nie dzwonić?",
        },
    ),
    (
        "pt",
        Phrases {
            fillers: &[
                "Um momento, por favor.",
                "Só um segundo.",
                "Ainda estou aqui, um momento.",
            ],
            pardon: "Desculpe, pode repetir, por favor?",
            broken: "Desculpe, algo não está a funcionar do nosso lado. Adeus.",
            time_is_up: "Infelizmente o nosso tempo acabou. Adeus.",
            handing_on: "Um momento, vou passar a chamada.",
            nobody_there: "Lamento, ninguém está disponível. Posso ajudar?",
            cut_off: "Desculpe, a linha caiu por um momento. Ainda está aí?",
            lost_you: "Desculpe, perdi a ligação por um momento.",
            opted_out: "Entendido, não voltaremos a ligar. Adeus.",
            opt_out_meant: "Quer que nunca mais lhe liguemos?",
        },
    ),
    (
        "zh",
        Phrases {
            fillers: &["请稍等。", "请再等一下。"],
            pardon: "不好意思，您能再说一遍吗？",
            broken: "很抱歉，我们这边出了点问题。再见。",
            time_is_up: "很抱歉，通话时间到了。再见。",
            handing_on: "请稍等，我为您转接。",
            nobody_there: "很抱歉，那边无人接听。我可以帮您做些什么吗？",
            cut_off: "不好意思，线路刚才断了一下。您还在吗？",
            lost_you: "不好意思，刚才断了一下。",
            opted_out: "明白了，我们不会再给您打电话。再见。",
            opt_out_meant: "您是希望我们以后不再给您打电话吗？",
        },
    ),
];

/// Returns whether a text, as far as it was heard, ends with the opt-out question.
pub fn asks_about_opt_out(text: &str) -> bool {
    let text = text.trim_end();
    let mut all = OTHERS.iter().map(|(_, phrases)| phrases).chain([&ENGLISH]);
    all.any(|phrases| {
        let question = phrases.opt_out_meant;
        // Half of the question is enough to recognise it.
        let mut heard = question.char_indices().filter(|(at, _)| at * 2 >= question.len());
        text.ends_with(question) || heard.any(|(at, _)| text.ends_with(question[..at].trim_end()))
    })
}

impl Phrases {
    /// Returns the sentences for a language code such as `pt-BR`; English ones without fillers if the
    /// language is unknown.
    pub fn of(language: &str) -> Self {
        let main = language.split('-').next().unwrap_or_default().to_ascii_lowercase();
        if main == "en" {
            return ENGLISH;
        }
        let known = OTHERS.iter().find(|(code, _)| *code == main);
        known.map_or(
            Self {
                fillers: &[],
                ..ENGLISH
            },
            |(_, phrases)| *phrases,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::{is_whole, spoken};

    #[test]
    fn every_language_has_whole_sentences_that_are_spoken_as_they_are() {
        for (_, phrases) in OTHERS.iter().chain([&("en", ENGLISH)]) {
            let others = [
                &phrases.pardon,
                &phrases.broken,
                &phrases.time_is_up,
                &phrases.handing_on,
                &phrases.nobody_there,
                &phrases.cut_off,
                &phrases.lost_you,
                &phrases.opted_out,
                &phrases.opt_out_meant,
            ];
            for text in phrases.fillers.iter().chain(others) {
                assert!(is_whole(text) && spoken(text) == **text, "{text}");
            }
            assert!(!phrases.fillers.is_empty());
        }
    }

    #[test]
    fn the_question_about_an_opt_out_is_known_again_also_when_it_was_cut_short() {
        for text in [
            ENGLISH.opt_out_meant,
            "Do you want us never to call",
            "M\u{f6}chten Sie, dass wir Sie nie wieder anrufen?",
        ] {
            assert!(asks_about_opt_out(text), "{text}");
        }
        for text in ["Do you want", "Do you want us to call you again?", "", "How are you?"] {
            assert!(!asks_about_opt_out(text), "{text}");
        }
    }

    #[test]
    fn a_language_is_found_by_its_code_and_an_unknown_one_has_no_fillers() {
        assert_eq!(Phrases::of("pt-BR").fillers[0], "Um momento, por favor.");
        assert_eq!(Phrases::of("EN-us"), ENGLISH);
        assert!(Phrases::of("xx").fillers.is_empty());
        assert_eq!(Phrases::of("xx").pardon, ENGLISH.pardon);
    }
}
