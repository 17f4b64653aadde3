//! The wish never to be called again in Hindi, in Devanagari and in Latin letters.

use super::pattern::{Table, Then, clear, likely};

pub(super) static TABLE: Table = Table {
    classes: &[
        // "फ़ोन" and "कॉल" in the form used for comparison.
        (
            "call",
            "फोन|काल|कालस|काल्स|संपर्क|call|calls|phone|fon|kaul|kol|contact|sampark",
        ),
        ("dont", "मत|ना|न|mat|na|naa|mt"),
        ("not", "नहीं|नही|नहिं|nahi|nahin|nai|nhi|nahee|nahii"),
        (
            "do",
            "करो|करना|कीजिए|कीजिये|करिए|करिये|कीजिएगा|करिएगा|करें|करे|कर|किया|लगाओ|लगाना|लगाइए|karo|karna|kijiye|kijie|\
             kariye|karie|kijiyega|kariyega|karen|karein|kare|kar|kiya|lagana|lagao|krna|kro|karna",
        ),
        (
            "please_do",
            "करो|कीजिए|कीजिये|करिए|करिये|कीजिएगा|करिएगा|करें|करे|karo|kijiye|kijie|kariye|karie|kijiyega|karen|karein|kare",
        ),
        ("end", "बंद|बन्द|band|bandh|bund"),
        (
            "give",
            "करो|कर|कीजिए|कीजिये|करिए|करें|दो|दीजिए|karo|kar|kijiye|kariye|karein|do|dijiye|kro",
        ),
        ("number", "नंबर|नम्बर|number|no|nambar"),
        ("name", "नाम|naam|name"),
        (
            "list",
            "लिस्ट|सूची|डेटाबेस|रिकार्ड|सिस्टम|list|suchi|database|record|system|data",
        ),
        (
            "take",
            "हटा|हटाओ|हटाइए|हटाइये|हटाना|निकाल|निकालो|निकालिए|मिटा|मिटाओ|डिलीट|काट|hata|hatao|hataiye|hatana|nikal|nikaal|\
             nikalo|nikaliye|mita|mitao|delete|remove|hataa",
        ),
        ("wanted", "चाहिए|चाहिये|चाहिएं|chahiye|chahie|chaiye|chahye"),
        ("want", "चाहता|चाहती|चाहते|chahta|chahti|chahte"),
        ("me", "मुझे|मुझको|हमें|हमको|mujhe|mujhko|mujko|hame|humein|hume|humko"),
        ("come", "आना|आए|आये|आनी|आने|aana|aaye|aani|aane|aae"),
    ],
    rules: &[
        clear("$call ..1 $dont $do", Then::Throughout),
        clear("$call ..1 $do मत|mat", Then::Throughout),
        clear("मत|mat $do? $call", Then::Throughout),
        clear("$call ..1 $not $please_do", Then::Throughout),
        clear("$call ..1 $do $end", Then::Throughout),
        clear("काल्स|calls $end $give", Then::Throughout),
        clear("$number ..5 $take", Then::Throughout),
        clear("$take ..3 मेरा|mera|hamara|हमारा $number", Then::Throughout),
        clear("$name|$me ..4 $list ..2 $take", Then::Throughout),
        clear("$not $want ..7 $call ..1 $please_do|$come", Then::Throughout),
        clear("$call ..1 $not|$dont $come $wanted", Then::Throughout),
        likely("$call ..1 $not करना|karna ~है|hai|था|tha|पड़ता", Then::Throughout),
        likely("$call ..1 $not $wanted", Then::Throughout),
        likely("परेशान|तंग|disturb|pareshan|tang ..1 $dont|$not $do", Then::Throughout),
        likely("परेशान|तंग|disturb|pareshan|tang करना|karna $end", Then::Throughout),
    ],
    // "को" marks another person: "my wife is not to be called".
    limits: "अभी|आज|कल|परसों|सुबह|शाम|रात|दोपहर|बजे|पहले|बाद|समय|वक्त|टाइम|जब|तक|दिन|इतनी|इतने|मीटिंग|गाडी|आफिस|हफ्ते|को|\
             abhi|aaj|kal|parso|parson|subah|shaam|sham|raat|dopahar|baje|pehle|pahle|baad|time|jab|tak|din|itni|itne|\
             meeting|gaadi|gadi|office|hafte|ko",
    for_good: &[
        "आज|अब|इसके|aaj|ab|iske के|ke? बाद|baad",
        "आज|अब|अभी|aaj|ab|abhi से|se",
        "मुझ|हम|mujh|hum को|ko",
        "$number को|ko",
        "कभी|kabhi",
        "बार|baar बार|baar",
        "किसी|kisi भी|bhi समय|वक्त|time|दिन|din",
    ],
    goes_on: &[],
    breaks: "और|aur|वरना|warna",
    asks: &[],
    joins: false,
};
