//! The wish never to be called again in Spanish.

use super::pattern::{Table, Then, clear, likely};

pub(super) static TABLE: Table = Table {
    classes: &[
        (
            "call",
            "llame|llamen|llames|llameis|llamar|contacte|contacten|contactes|telefonee|telefoneen|telefonees|marque|\
             marquen|marques|escriban|escriba",
        ),
        (
            "calling",
            "llamar|llamarme|llamarnos|contactar|contactarme|contactarnos|telefonear|telefonearme|marcar|marcarme",
        ),
        (
            "bother",
            "molestar|molestarme|molestarnos|fastidiar|fastidiarme|acosar|acosarme|insistir",
        ),
        ("stop", "deje|dejen|deja|dejad|pare|paren|para|cese|cesen"),
        ("want", "quiero|deseo|queremos|quisiera|deseamos|necesito"),
        ("me", "me|nos|la|lo|le|les"),
        (
            "take_me",
            "quiteme|quitenme|quitame|borreme|borrenme|borrame|elimineme|eliminenme|eliminame|saqueme|saquenme|sacame|\
             tacheme|tachenme|retireme|retirenme|quitarme|borrarme|eliminarme|sacarme|quitennos|borrennos|saquennos",
        ),
        (
            "take",
            "borre|borren|borra|elimine|eliminen|elimina|quite|quiten|quita|saque|saquen|saca|tache|retire|retiren|borrar|\
             eliminar|quitar|sacar",
        ),
        (
            "list",
            "lista|listas|base|registro|registros|sistema|fichero|ficheros|archivo|archivos|agenda|bases",
        ),
    ],
    rules: &[
        clear("no $me? $call", Then::Good),
        clear("no $me? vuelva|vuelvan|vuelvas|volvais a $calling", Then::Good),
        clear("!no $stop ya? de $calling", Then::Good),
        clear("!no $stop ya? de $bother ..2 llamadas|llamar|llamando", Then::Ever),
        clear("no $want que ..3 $call|vuelvan|vuelva|vuelvas", Then::Ever),
        clear("no $want recibir|tener? mas|otra|ninguna llamadas|llamada", Then::Ever),
        clear(
            "no $want ser|seguir contactado|contactada|llamado|recibiendo|siendo",
            Then::Ever,
        ),
        clear("$take_me de ..3 $list", Then::Free),
        clear("$take mi|este|nuestro ..2 numero|telefono|celular|movil", Then::Free),
        clear("$take mi|mis|nuestro nombre|datos de ..3 $list", Then::Free),
        clear(
            "darme|deme|denme|dame|dennos de baja de|en|con ..2 $list|llamadas",
            Then::Free,
        ),
        clear("basta|no|nada de|mas mas? llamadas|llamar", Then::Ever),
        clear("ni una sola? llamada mas", Then::Ever),
        clear("nunca|jamas mas? $me? $call", Then::Good),
        clear("nunca|jamas mas? $me? vuelva|vuelvan|vuelvas a $calling", Then::Ever),
        likely(
            "no $want recibir|tener? sus|estas|tus|esas|este|de llamadas|tipo",
            Then::Ever,
        ),
        likely("darme|deme|denme de baja por|ya|gracias? favor? >", Then::Free),
        likely("$take_me por|ya|gracias? favor? >", Then::Free),
        likely(
            "dejeme|dejenme|dejame|dejennos en|tranquilo|tranquila|tranquilos paz?",
            Then::Ever,
        ),
        likely("no me|nos moleste|molesten|molestes", Then::Good),
        likely("!no $stop ya? de $bother", Then::Ever),
    ],
    limits: "ahora|hoy|manana|tarde|noche|antes|despues|hasta|temprano|tan|hora|horas|lunes|martes|miercoles|jueves|viernes|\
             sabado|domingo|semana|momento|durante|mientras|cuando|conduciendo|manejando|ocupado|ocupada|reunion|dia|\
             luego|todavia|aun",
    for_good: &[
        "hasta nunca",
        "a partir de ahora",
        "de ahora en adelante",
        "desde ahora|hoy",
        "otro dia",
    ],
    goes_on: &[
        "mas|nunca|jamas|otra|de|vez|nuevo|ya|aqui|aca|gracias|usted|ustedes|favor|por|vida|la|en|casa|oiga|oye|senorita",
        "a este|mi|esta|nuestro numero|telefono|casa|linea|movil|celular",
        "este numero",
    ],
    breaks: "o|y|que|porque|si|no|entendido|estoy",
    asks: &[
        "llameme|llamame|llamenme|llamadme|marqueme|llamenos",
        "!no vuelva|vuelvan|vuelvas a llamar|llamarme ~nunca|mas",
    ],
    joins: false,
};
