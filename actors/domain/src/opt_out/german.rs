//! The wish never to be called again in German.

use super::pattern::{Table, Then, clear, likely};

pub(super) static TABLE: Table = Table {
    classes: &[
        ("ring", "rufen|ruf|ruft|rufe"),
        ("call", "anrufen|kontaktieren|belastigen|anzurufen"),
        ("calls", "anrufen|anruft|anrufst|anrufe|kontaktieren|kontaktiert|melden"),
        ("called", "angerufen|kontaktiert|belastigt|behelligt"),
        ("you", "sie|ihr|du"),
        ("me", "mich|uns|hier"),
        ("never", "nicht|nie|niemals|nimmer"),
        ("again", "mehr|wieder|nochmal|nochmals|weiter|langer|erneut"),
        // After one of these the speaker describes or asks something and does not wish it.
        ("who", "ich|wir|er|sie|die|warum|wieso|weshalb|wann|man"),
        ("want", "mochte|will|wunsche|mochten|wollen|wunschen"),
        (
            "take",
            "streichen|streich|streicht|nehmen|nimm|nehmt|loschen|losch|loscht|losche|entfernen|entfern|entferne|entfernt|\
             tragen|werfen|schmeissen",
        ),
        ("number", "nummer|telefonnummer|rufnummer|handynummer|nummern"),
        ("detail", "$number|daten|namen|name|kontaktdaten|kontakt"),
        (
            "list",
            "liste|listen|kartei|datenbank|system|verteiler|datei|anrufliste|kundendatei|telefonliste|kundenliste|\
             adressliste|unterlagen|anruflisten|kundenkartei|register",
        ),
    ],
    rules: &[
        clear("!$who $ring $you? ..4 $never $again ..2 an", Then::Throughout),
        clear("!$who $ring $you? ..4 nicht noch einmal|mal ..1 an", Then::Throughout),
        clear(
            "!$who $ring $you? bitte? $me bitte|einfach? nicht an >|bitte|danke|und",
            Then::Throughout,
        ),
        clear(
            "< bitte|und? bitte? $me? $never $again $me|bitte? anrufen|kontaktieren",
            Then::Throughout,
        ),
        clear("$never $again ..1 $called werden|zu", Then::Throughout),
        clear("$want nicht dass|das $you ..5 $calls", Then::Throughout),
        clear("dass|das $you $me ..1 $never $again ..1 $calls", Then::Throughout),
        clear(
            "sollen|sollt|durfen|brauchen $you? $me ..1 $never $again ..1 $call",
            Then::Throughout,
        ),
        clear(
            "horen|hor|hort $you? ..1 auf ..4 $call|anrufe|anruferei",
            Then::Throughout,
        ),
        clear(
            "horen|hor|hort mit|$you? mit? ..3 anrufe|anrufen|anruferei auf",
            Then::Throughout,
        ),
        clear(
            "unterlassen|unterlass|unterlasst|stoppen|beenden $you? ..3 anrufe|anrufen|anruferei",
            Then::Throughout,
        ),
        clear(
            "lassen|lasst|lass $you? das|diese|die|ihre anrufen|anrufe|anruferei",
            Then::Throughout,
        ),
        clear(
            "lassen|lasst|lass $you? $me ..4 anrufen|anrufe ..1 ruhe|frieden",
            Then::Throughout,
        ),
        clear(
            "$take $you|bitte? bitte? mich|uns bitte|sofort? aus|von|vom ..3 $list",
            Then::Free,
        ),
        clear(
            "$take $you|bitte? bitte? meine|unsere|diese|meinen $detail bitte? aus|von|vom ..3 $list",
            Then::Free,
        ),
        clear("$take $you|bitte? bitte? meine|unsere|diese $number", Then::Ever),
        clear(
            "!$who meine|diese $number bitte? loschen|streichen|entfernen",
            Then::Ever,
        ),
        clear("keine weiteren|weitere anrufe|werbeanrufe", Then::Throughout),
        clear("keine|keinen anrufe|anruf|werbeanrufe mehr", Then::Throughout),
        clear("vergessen $you? meine|unsere|diese $number", Then::Ever),
        likely("$want ..2 keine anrufe|werbeanrufe", Then::Throughout),
        likely("lassen|lasst|lass $you? $me ..2 ruhe|frieden", Then::Throughout),
        likely("sperrliste|robinsonliste", Then::Free),
        likely("mich austragen", Then::Ever),
    ],
    limits: "heute|morgen|gleich|jetzt|gerade|vor|nach|bis|erst|uhr|abends|morgens|mittags|nachts|abend|nachmittag|vormittag|\
             wochenende|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|spater|spat|fruh|wahrend|moment|\
             besprechung|auto|bekommen|erhalten|verpasst|woche|polizei|sondern|solange|wenn",
    for_good: &["ab heute|jetzt|sofort", "von jetzt|nun an"],
    goes_on: &[],
    breaks: "und|oder",
    asks: &[
        "$ring $you? mich|uns lieber|morgen|spater|am|auf|unter|nachste|zuruck|bitte? morgen|spater|zuruck|wieder|auf|am|an",
    ],
    joins: true,
};
