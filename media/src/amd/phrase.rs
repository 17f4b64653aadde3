//! First phrases of answering machines, menus, announcements, call-screening assistants and people, in a few
//! languages. Phrases are normalised by [`super::hints::normalised`]: lower case, no accents, no punctuation.

/// Meaning of a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    /// Certainly a mailbox.
    Tone,
    /// A mailbox, unless a person offers to take the message.
    Record,
    /// Somebody cannot come to the telephone.
    CannotAnswer,
    /// "You have reached".
    Reached,
    /// Somebody is not available.
    Absent,
    /// A message may be left.
    Leave,
    /// Mentions a mailbox.
    Mailbox,
    /// Somebody will call back.
    CallBack,
    /// A menu.
    Menu,
    /// A company's line.
    Queue,
    /// A call-screening assistant.
    Screening,
    /// Asks who calls.
    Who,
    /// Asks why.
    Why,
    /// A mailbox that takes no messages.
    Full,
    /// The callee is out of reach of the network.
    NotReachable,
    /// The number does not exist.
    NotInService,
    /// Mentions the number or the person called.
    Dialed,
    /// With `Dialed`: out of reach of the network.
    OffAir,
    /// With `Dialed`: the number does not exist.
    NoService,
    /// A hello.
    Hello,
    /// Words to somebody who can answer, or about a third person.
    Person,
    /// A question about machines.
    Asks,
    /// Asks for patience.
    Holds,
}

/// All phrases, separated by commas, with their hints. If one phrase contains another, both count.
pub(super) const PHRASES: &[(Hint, &str)] = &[
    (Hint::Tone, TONE),
    (Hint::Record, RECORD),
    (Hint::CannotAnswer, CANNOT_ANSWER),
    (Hint::Reached, REACHED),
    (Hint::Absent, ABSENT),
    (Hint::Leave, LEAVE),
    (Hint::Mailbox, MAILBOX),
    (Hint::CallBack, CALL_BACK),
    (Hint::Menu, MENU),
    (Hint::Queue, QUEUE),
    (Hint::Screening, SCREENING),
    (Hint::Who, WHO),
    (Hint::Why, WHY),
    (Hint::Full, FULL),
    (Hint::NotReachable, NOT_REACHABLE),
    (Hint::NotInService, NOT_IN_SERVICE),
    (Hint::Dialed, DIALED),
    (Hint::OffAir, OFF_AIR),
    (Hint::NoService, NO_SERVICE),
    (Hint::Hello, HELLO),
    (Hint::Person, PERSON),
    (Hint::Asks, ASKS),
    (Hint::Holds, HOLDS),
];

/// Phrases that only mailboxes use, even in the middle of a sentence.
const TONE: &str = "\
    after the tone, after the beep, after the signal, at the tone, at the beep, at the sound of the tone, at the \
    sound of the beep, wait for the tone, wait for the beep, record your message, forwarded to voicemail, \
    forwarded to voice mail, forwarded to an automated voice, forwarded to an automatic voice, automated voice \
    messaging system, automatic voice message system, despues del tono, despues de la senal, despues del bip, al \
    escuchar el tono, buzon de voz, apres le bip, apres le signal sonore, apres le bip sonore, nach dem ton, \
    nach dem piep, nach dem piepton, nach dem signalton, nach dem signal, apos o sinal, apos o bip, beep ke \
    baad, tone ke baad, बीप के बाद, टोन के बाद";

/// Invitations to leave a recording. A secretary may say some of them.
const RECORD: &str = "\
    please leave a message, please leave your message, please leave me a message, please leave us a message, \
    please leave your name, leave your name and number, leave your name and your number, leave your name and \
    telephone number, leave your name and phone number, leave your name number and, leave a detailed message, \
    leave a brief message, leave a short message, voice mailbox, voicemail box, deje su mensaje, deje un \
    mensaje, deja tu mensaje, deja un mensaje, laissez un message, laissez moi un message, laissez votre \
    message, laisser un message, hinterlassen sie eine nachricht, hinterlassen sie bitte eine nachricht, \
    hinterlassen sie uns eine nachricht, hinterlassen sie mir eine nachricht, hinterlasst eine nachricht, deixe \
    sua mensagem, deixe seu recado, apna sandesh chhoden, संदेश छोड़ें";

/// Reasons why nobody comes to the telephone, in words that a person on the telephone does not use about themselves.
const CANNOT_ANSWER: &str = "\
    come to the phone, come to the telephone, unable to take your call, unable to answer your call, unable to \
    answer the phone, not able to take your call, not able to answer, cannot answer the phone, cant answer the \
    phone, away from my desk, away from my phone, away from the phone, person you are calling is not available, \
    person youre calling is not available, person you are trying to reach, person youre trying to reach, party \
    you are trying to reach, customer is unavailable, no puedo atenderte, no puedo atender su llamada, no \
    podemos atender su llamada, ne peux pas vous repondre, ne pouvons pas vous repondre, ne suis pas disponible, \
    nicht ans telefon, bin zurzeit nicht erreichbar, bin zur zeit nicht erreichbar, bin momentan nicht \
    erreichbar, nao posso atender";

/// Statements of who was called, used by both machines and people.
const REACHED: &str = "\
    youve reached, you have reached, youre through to, ha llamado a, vous etes bien, vous etes sur, sie haben \
    die nummer, anschluss von";

/// Statements that somebody is not there.
const ABSENT: &str = "\
    not available, unavailable, not here, not in right now, cant take your call, cannot take your call, missed \
    your call, no esta disponible, no estoy disponible, nest pas disponible, nicht verfugbar, nicht erreichbar, \
    उपलब्ध नहीं";

/// Statements that a message may be left.
const LEAVE: &str = "\
    leave a message, leave me a message, leave us a message, leave your message, leave your name, leave your \
    number, un mensaje, un message, eine nachricht, mensagem";

/// Mentions of a mailbox.
const MAILBOX: &str = "\
    voicemail, voice mail, mailbox, mail box, answering machine, contestador, messagerie, boite vocale, \
    repondeur, anrufbeantworter, correo de voz, caixa postal";

/// Announcements of a call-back.
const CALL_BACK: &str = "\
    get back to you, return your call, call you back as soon as, call you back when, te llamare, le llamaremos, \
    rappellerai, rappellerons, rufe zuruck, rufen sie zuruck";

/// Phrases of a menu that wants a key or a choice.
const MENU: &str = "\
    press one, press two, press three, press four, press five, press six, press seven, press eight, press nine, \
    press zero, press 1, press 2, press 3, press 4, press 5, press 6, press 7, press 8, press 9, press 0, press \
    the star, press the pound, press star, press pound, press hash, press any key, following options, following \
    menu, menu options, options have changed, menu has changed, main menu, partys extension, dial the extension, \
    enter the extension, enter your account number, you can say things like, say or press, press or say, para \
    espanol, oprima el, oprima uno, oprima 1, marque el, marque uno, marque 1, presione el, presione uno, \
    presione 1, pulse el, pulse uno, pulse 1, appuyez sur, tapez un, tapez 1, faites le un, faites le 1, tapez \
    etoile, drucken sie die, drucken sie eins, drucken sie 1, wahlen sie die, dabayen, दबाएं, दबाएँ";

/// Phrases of company lines before or between menus. People of companies say some of them.
const QUEUE: &str = "\
    thank you for calling, thanks for calling, your call is important, this call may be recorded, calls may be \
    recorded, your call may be recorded, please listen carefully, listen carefully, all of our agents, all our \
    agents, all of our representatives, next available, visit our website, office hours, business hours, \
    currently closed, gracias por llamar, su llamada es importante, merci de votre appel, vielen dank fur ihren \
    anruf";

/// Phrases of an assistant that asks on behalf of the person called.
const SCREENING: &str = "\
    call screening, call screen, screening service, screening this call, screening calls, screening your call, \
    screens calls, state your name, say your name, record your name, tell me your name and, give your name and, \
    your name and reason, your name and the reason, your name and why, see if this person is available, see if \
    they are available, see if theyre available, virtual assistant, automated assistant, digital assistant, call \
    assistant, personal assistant of, diga su nombre, dites votre nom, nennen sie ihren namen";

/// Questions who calls.
const WHO: &str = "\
    who is calling, whos calling, who is this, whos this, who are you, your name, quien llama, quien habla, qui \
    appelle, wer ist da, wer spricht";

/// Questions why somebody calls.
const WHY: &str = "\
    and why, why are you calling, why youre calling, why you are calling, reason for calling, reason for your \
    call, reason of your call, what is it about, what is this about, whats this about, what it is about, what \
    its about, what is it regarding, what it is regarding, motivo de su llamada, de que se trata, worum geht, a \
    quel sujet";

/// Phrases of a mailbox that takes no message.
const FULL: &str = "\
    the mailbox is full, mailbox is full and, mailbox is currently full, mailbox you have reached is full, voice \
    mailbox is full, voicemail box is full, voicemail is full and, mailbox has not been set up, mailbox that has \
    not been set up, voicemail that has not been set up, voicemail has not been set up, mailbox is not set up, \
    voicemail is not set up, voicemail box that has not been set up, not been set up yet, cannot accept any \
    messages, cannot accept messages, cannot accept new messages, cant accept messages, buzon esta lleno, buzon \
    de voz esta lleno, messagerie est pleine, mailbox ist voll, is not accepting messages";

/// Announcements that the callee cannot be reached now.
const NOT_REACHABLE: &str = "\
    the subscriber you have called, the subscriber you have dialed, the subscriber you are calling, your call \
    cannot be completed at this time, all circuits are busy, apagado o fuera de cobertura, fuera del area de \
    cobertura, votre correspondant nest pas, der angerufene teilnehmer, der gewunschte gesprachspartner, \
    teilnehmer ist vorubergehend nicht erreichbar, स्विच ऑफ है, कवरेज क्षेत्र से बाहर, पहुंच से बाहर";

/// Announcements that the number does not exist.
const NOT_IN_SERVICE: &str = "\
    cannot be completed as dialed, could not be completed as dialed, number you have dialed is incorrect, number \
    you have dialed is not valid, number you have called is not recognised, number you have dialed has not been \
    recognised, numero que usted marco no existe, numero marcado no existe, numero nest pas attribue, numero \
    nest plus attribue, kein anschluss unter dieser nummer, rufnummer ist nicht vergeben, डायल किया गया नंबर \
    मौजूद नहीं";

/// Mentions of the number or the person called, as in announcements.
const DIALED: &str = "\
    you have dialed, you have dialled, youve dialed, you dialed, number you are calling, number you have called, \
    number you called, person you are calling, phone you are calling, person you have called, customer you are \
    calling, customer you have called, wireless customer, number you are trying, person you are trying, party \
    you are trying, number you have reached, this number is, the number has, is not a working number";

/// Together with [`DIALED`]: cannot be reached now.
const OFF_AIR: &str = "\
    switched off, turned off, out of coverage, outside the coverage area, out of the coverage area, not \
    reachable, cannot be reached, can not be reached, not accepting calls, not in reach";

/// Together with [`DIALED`]: the number does not exist.
const NO_SERVICE: &str = "\
    not in service, no longer in service, out of service, been disconnected, not a working number, does not \
    exist, been changed, not assigned, is not assigned";

/// Words with which people pick up.
const HELLO: &str = "\
    hello, hi, hey, yes, yeah, good morning, good afternoon, good evening, hola, bueno, diga, si, allo, oui, \
    bonjour, hallo, ja, namaste, haan, ola, alo, हैलो, नमस्ते, जी";

/// Words to somebody who can answer, or about somebody else. They show that a person is on the line.
const PERSON: &str = "\
    can i, could i, may i, shall i, should i, do i, am i, would you like, would you mind, do you want, do you \
    need, do you know, did you, have you, are you, can you, could you, will you, can we, how can we, how may we, \
    what can we, what can i, what do you, what did you, how are you, who are you, who is this, whos this, who do \
    you, who did you, hold on, hang on, one second, just a second, just a minute, let me get, let me see, let me \
    check, ill get, ill see, ill tell, i can take, i can hear, i hear you, im here, i am here, im right here, im \
    back, i picked up, with me, speaking, im sorry i was, sorry i was, sorry about that, wrong number, whats up, \
    go ahead, he is, hes, he isnt, he will, hell be, he went, he cant, he cannot, she is, shes, she isnt, she \
    will, shell be, she went, she cant, she cannot, they are not, theyre not, not at home, my mom, my mum, my \
    mother, my dad, my father, my wife, my husband, my son, my daughter, my boss, my brother, my sister, my \
    colleague, my mailbox, my voicemail, my phone, en que puedo, de parte de quien, un momento, puedo ayudarle, \
    que puis je, je vous ecoute, ne quittez pas, cest moi, was kann ich, wie kann ich, kann ich, moment bitte, \
    am apparat, boliye, कौन बोल, बोल रहा, बोल रही, my number, my line";

/// Questions about a machine, which a machine does not ask.
const ASKS: &str = "\
    is this a, is this an, is this the, is that a, is this one of, is it a, are you a, are you an, am i talking \
    to, am i speaking to, am i supposed, do i have to, should i leave, shall i leave, can i leave, could i \
    leave, may i leave, did i reach, have i reached, i thought, sounds like, what do you mean, you want me to";

/// Phrases of an assistant that has asked and now looks for the person.
const HOLDS: &str = "\
    please hold, hold on, hold the line, one moment, just a moment, one second, stay on the line, please wait, \
    please stand by, connecting, connect you, put you through, putting you through, transferring, transfer you, \
    let me check, let me see, checking if, see if, ill let, i will let, ill check, i will check, ill ask, i will \
    ask, un momento, no cuelgue, ne quittez pas, un instant, einen moment, bleiben sie dran, thank you, thanks, danke, merci, gracias";
