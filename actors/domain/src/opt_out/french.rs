//! The wish never to be called again in French.

use super::pattern::{Table, Then, clear, likely};

pub(super) static TABLE: Table = Table {
    classes: &[
        (
            "call",
            "appelez|appelle|appelles|rappelez|rappelle|rappelles|telephonez|telephone|contactez|contacte|sollicitez|\
             demarchez|joignez",
        ),
        (
            "calling",
            "appeler|rappeler|telephoner|contacter|solliciter|demarcher|joindre",
        ),
        (
            "would_call",
            "appeliez|rappeliez|telephoniez|contactiez|appelles|appelle|appellent|contactent",
        ),
        (
            "called",
            "appele|appelee|appeles|rappele|contacte|contactee|contactes|demarche|demarchee|sollicite|sollicitee",
        ),
        // After one of these the speaker describes something and does not ask for it.
        ("who", "vous|tu|je|il|elle|on|nous|qui|ils|elles|j"),
        ("me", "me|m|nous"),
        ("want", "veux|souhaite|desire|voudrais|voulons|souhaitons|veut|aimerais"),
        (
            "take",
            "retirez|retire|enlevez|enleve|supprimez|supprime|effacez|efface|rayez|raye|otez|sortez|radiez|retirer|\
             supprimer|enlever|effacer|rayer|virez",
        ),
        (
            "list",
            "liste|listes|fichier|fichiers|base|bases|repertoire|systeme|registre|contacts|annuaire",
        ),
    ],
    rules: &[
        clear("!$who ne|n $me? $call plus|jamais|pas", Then::Good),
        clear("!$who|ne|n $me $call plus|jamais", Then::Good),
        clear("!$who|ne|n $call plus ici|jamais", Then::Good),
        clear("ne plus|jamais jamais? $me? $calling", Then::Good),
        clear("ne pas $me $calling", Then::Good),
        clear("ne|n $me? $would_call plus|jamais", Then::Good),
        clear("plus|pas|jamais que vous|tu|on|l ..2 $would_call|$calling", Then::Ever),
        clear("plus|jamais etre ..1 $called", Then::Ever),
        clear("$want pas etre ..1 $called", Then::Ever),
        clear("plus|jamais recevoir|avoir|d|de? ..1 appels|appel|coups", Then::Ever),
        clear(
            "arretez|arrete|cessez|cesse|stoppez|arreter|cesser de|d $me? $calling",
            Then::Ever,
        ),
        clear("arretez|cessez|stoppez avec? ces|vos|les|tous appels|coups", Then::Ever),
        clear("$take moi|nous de|du|des ..3 $list", Then::Free),
        clear(
            "$take mon|mes|notre nom|numero|telephone|coordonnees|donnees|contact de|du|des ..3 $list",
            Then::Free,
        ),
        clear("$take mon|notre|ce numero|telephone", Then::Free),
        clear("desinscrivez|desinscris|radiez|desabonnez moi|nous", Then::Free),
        clear("oubliez|perdez mon|notre|ce numero", Then::Ever),
        likely("$want pas|aucun recevoir|avoir|d|de|vos? ..1 appels|appel", Then::Ever),
        likely(
            "laissez|laisse|fichez|foutez moi|nous tranquille|tranquilles|la|en",
            Then::Ever,
        ),
        likely("ne|n? $me derangez|derange|embetez plus|pas", Then::Good),
        likely("arretez|arrete|cessez de|d $me deranger|harceler|embeter", Then::Ever),
        likely("me desinscrire|desabonner", Then::Ever),
        likely("bloctel", Then::Free),
    ],
    limits: "avant|apres|demain|aujourd|maintenant|matin|soir|midi|nuit|semaine|lundi|mardi|mercredi|jeudi|vendredi|samedi|\
             dimanche|heure|heures|tard|tot|pendant|jusqu|quand|weekend|week|conduis|reunion|occupe|occupee|moment|manquer|\
             rater|bureau|travail",
    for_good: &["a partir de maintenant|aujourd hui?"],
    goes_on: &[
        "plus|jamais|pas|ici|merci|svp|encore|s|il|vous|te|plait|d|accord",
        "a|sur|au? ce|mon|cette numero|telephone|ligne",
        "chez moi|nous",
        "de la|ma vie",
        "a nouveau",
        "une autre|nouvelle? fois",
    ],
    breaks: "et|ou|c|je|j|sinon|compris|car|parce",
    asks: &[
        "!ne|n rappelez|appelez|rappelle|appelle|telephonez moi|nous",
        "!ne|n pouvez|pourriez|peux me rappeler|appeler",
    ],
    joins: false,
};
