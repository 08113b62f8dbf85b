package tales

import "strings"

// part is a piece of an alternative: literal text, a rule to draw from, or something drawn earlier.
type part struct {
	literal string
	rule    string // draw from this rule
	name    string // with rule: remember the text by this name; without: say the remembered text again
	form    int    // without rule, not 0: not the text itself but a pronoun for it
}

// text returns what a part without a rule says.
func (p part) text(bound map[string]string) string {
	switch {
	case p.name == "":
		return p.literal
	case p.form == 0:
		return bound[p.name]
	default:
		return pronouns[girls[bound[p.name]]][p.form-1]
	}
}

// pronouns of heroes; the see girls.
var pronouns = map[bool][4]string{
	true:  {"she", "her", "her", "She"},
	false: {"he", "his", "him", "He"},
}

// forms maps the slots that stand for a pronoun of the hero to 1 + the index in pronouns.
var forms = map[string]int{"he": 1, "his": 2, "him": 3, "He": 4}

// rules is the grammar with its alternatives cut into parts.
var rules = func() map[string][][]part {
	cut := make(map[string][][]part)
	for name, alternatives := range grammar {
		for _, a := range alternatives {
			cut[name] = append(cut[name], parts(a))
		}
	}
	for name, list := range words {
		for _, word := range strings.Fields(list) {
			cut[name] = append(cut[name], []part{{literal: strings.ReplaceAll(word, "_", " ")}})
		}
	}
	return cut
}()

// parts cuts an alternative: {rule} draws, {rule=name} draws and remembers, {=name} says it again,
// and {he}, {his}, {him}, {He} are the hero's pronouns.
func parts(alternative string) []part {
	var list []part
	for alternative != "" {
		literal, rest, slot := strings.Cut(alternative, "{")
		if literal != "" {
			list = append(list, part{literal: literal})
		}
		if !slot {
			break
		}
		inside, after, _ := strings.Cut(rest, "}")
		alternative = after
		if form := forms[inside]; form != 0 {
			list = append(list, part{name: "hero", form: form})
			continue
		}
		rule, name, _ := strings.Cut(inside, "=")
		list = append(list, part{rule: rule, name: name})
	}
	return list
}

var girls = map[string]bool{"Hen": true, "Cat": true, "Cow": true, "Bee": true, "Hare": true, "Dove": true, "Crow": true, "Lamb": true, "Mole": true, "Goat": true, "Duck": true, "Wren": true, "Deer": true, "Swan": true}
