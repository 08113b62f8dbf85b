package tales

// grammar lists the alternatives of each rule. A tale has a hero, who lacks a treasure, goes out, meets
// others, hears them, does something, is given the treasure and is glad, or at least goes on.
//
// It is made for a very small model. Slots draw from long lists of short words, so that there is much
// to choose in few letters; the word or two before a slot tell which list it draws from; and nothing
// but the treasure must be remembered from one sentence to another. Adjectives begin with a
// consonant, for they may follow "a".
var grammar = map[string][]string{
	"tale": {"{opening} {lack}\n{way} {meeting}\n{speech} {deed}\n{gift} {ending}\n\n"},

	"opening": {
		"{once} {beast} {went} {to} {thing}.",
		"{once} {beast} {did} {thing}.",
	},
	"lack": {
		"It {did} {thing}, but had no {treasure=gift}.",
		"It {did} {thing} and {thing}, but had no {treasure=gift}.",
	},
	"way": {
		"{then} it {went} {to} {thing}.",
		"{then} it {went} {to} {thing}, {so} {beast} {went} {to} {thing}.",
	},
	"meeting": {
		"{beast} {did} {thing} and {thing}.",
		"{beast} {went} {to} {thing}, {so} {beast} {did} {thing}.",
	},
	"speech": {
		"\"I {did} {thing} and {thing},\" said {beast}.",
		"\"I {went} {to} {thing},\" said {beast}.",
	},
	"deed": {
		"{then} it {did} {thing} and {thing}.",
		"{then} it {did} {thing}, {so} {beast} {did} {thing}.",
	},
	"gift": {
		"{beast} gave it the {=gift}.",
		"{beast} sold it the {=gift} for {thing}.",
	},
	"ending": {
		"It {went} {to} {thing}, {so} {beast} {went} {to} {thing}.",
		"It was glad, {so} {beast} {did} {thing}.",
	},

	"beast": {"{Adjective} {Animal}"},
	"thing": {"{the} {adjective} {noun}"},
}

// words lists the alternatives of the rules that give single words; "_" stands for a space.
var words = map[string]string{
	"once": "Once Long_ago One_day At_noon Last_May At_dawn By_night In_fog",
	"then": "Then So Soon Next Now Later Often Twice",
	"so":   "but so as yet while until when",
	"the":  "the a one that this our",

	"adjective": `big red wee shy sly wise kind good bad sad mad hot cold wet dry dark pale gray blue tan
		fat tall thin long soft hard lame poor rich wild new glad calm meek tame warm weak dull`,
	"animal": `fox hen cat dog pig cow bee rat bat ram hog cub jay yak goat hare frog toad duck bear mole crow
		crab lamb wolf deer dove lion swan wren seal moth`,
	"noun": `bell key hat cup pot pan map lamp drum bag rug ring rope fan flag harp horn boat kite ball book
		bowl fork jug jar lid net nail hook bed gem pin pie fig nut bun coat shoe cart sled mill hill well pond
		barn hut dam road path bog gate rock lane yard tree log box bush nest web tent vine mat tub`,
	"treasure": "crown pearl sword star cloak rose",

	"went": "went ran rode swam flew crept sped came fled slid leapt drove",
	"to":   "to by at in on up off past over from under into near down",
	"did": `took held hid lost sold bent kept saw got made sent met cut hung dug led fed won hit tied found
		threw broke caught stole shook drew hurt tore wore`,
}
