package tales

var grammar = map[string][]string{
	"tale": {"{opening} {wish}\n{way} {meeting}\n{speech} {deed}\n{gift} {ending}\n\n"},

	"opening": {
		"{once} {Adj} {Animal=hero} {went} {to} {places}.",
		"{once} {Adj} {Animal=hero} {did} {things}.",
	},
	"wish": {
		"{He} {did} {things}, but had no {treasure=gift}.",
		"{He} {did} {things} and {things}, but had no {treasure=gift}.",
	},
	"way": {
		"{then} {he} {went} {to} {places}.",
		"{then} {he} {went} {to} {places}, {so} {beast} {went} {to} {places}.",
	},
	"meeting": {
		"{beast} {did} {things} and {things}.",
		"{beast} {went} {to} {places}, {so} {beast} {did} {things}.",
	},
	"speech": {
		"\"I {did} {things} and {things},\" said {beast}.",
		"\"I {went} {to} {places},\" said {beast}.",
	},
	"deed": {
		"{then} {he} {did} {things} and {things}.",
		"{then} {he} {did} {things}, {so} {beast} {did} {things}.",
	},
	"gift": {
		"{beast} gave {him} the {=gift}.",
		"{beast} sold {him} the {=gift} for {things}.",
	},
	"ending": {
		"{He} {went} {to} {places}, {so} {beast} {went} {to} {places}.",
		"{He} {did} {things}, {so} {beast} {did} {things}.",
	},

	"beast":  {"{Adj} {Animal}"},
	"places": {"{the} {adj} {place}"},
	"things": {"{the} {adj} {thing}"},
}

var words = map[string]string{
	"once": "Once Long_ago One_day At_noon Last_May At_dawn By_night In_fog",
	"then": "Then So Soon Next Now Later Often Twice",
	"so":   "but so as yet while until when",
	"the":  "the a one that this our",
	"Animal": `Fox Hen Cat Dog Pig Cow Bee Rat Bat Ram Hog Cub Jay Yak Goat Hare Frog Toad Duck Bear Mole Crow
		Crab Lamb Wolf Deer Dove Lion Swan Wren Seal Moth`,
	"thing": `bell key hat cup pot pan map lamp drum bag rug ring rope fan flag harp horn boat kite ball book
		bowl fork jug jar lid net nail hook bed gem pin pie fig nut bun coat shoe cart sled`,
	"treasure": "gold rose crown pearl sword star cloak egg",
	"place": `mill hill well pond lake barn farm wood cave hut tor dam road den path fen moor bay town shop
		bog camp mine fort gate rock lane dell cove port ford park`,
	"adj": `big red wee shy sly wise kind good bad sad mad hot cold wet dry dark pale gray
		blue tan fat tall thin long soft hard lame poor rich wild new glad calm meek tame warm weak dull`,
	"Adj": `Big Red Wee Shy Sly Wise Kind Good Bad Sad Mad Hot Cold Wet Dry Dark Pale Gray
		Blue Tan Fat Tall Thin Long Soft Hard Lame Poor Rich Wild New Glad Calm Meek Tame Warm Weak Dull`,
	"went": `went ran rode swam flew crept sped came fled slid leapt drove`,
	"to":   "to by at in on up off past over from under into near down",
	"did": `took held hid lost sold bent kept saw got made sent met cut hung dug led fed won hit tied found threw broke
		caught stole shook drew hurt tore wore`,
}
