package tales

import "strings"

// part is a piece of an alternative: literal text, a rule to draw from, or something drawn earlier.
type part struct {
	literal string
	rule    string // draw from this rule
	name    string // with rule: remember what was drawn under this name; without: say it again
}

// rules is the grammar with its alternatives cut into parts.
var rules = cut()

// cut reads grammar and words. A list of words is also a rule with capitals: {Animal} draws Fox where
// {animal} draws fox.
func cut() map[string][][]part {
	rules := make(map[string][][]part)
	for name, alternatives := range grammar {
		for _, a := range alternatives {
			rules[name] = append(rules[name], parts(a))
		}
	}
	for name, list := range words {
		for _, word := range strings.Fields(list) {
			word = strings.ReplaceAll(word, "_", " ")
			rules[name] = append(rules[name], []part{{literal: word}})
			rules[capital(name)] = append(rules[capital(name)], []part{{literal: capital(word)}})
		}
	}
	return rules
}

// parts cuts an alternative: {rule} draws, {rule=name} draws and remembers, {=name} says it again.
func parts(alternative string) []part {
	var list []part
	for alternative != "" {
		literal, rest, _ := strings.Cut(alternative, "{")
		if literal != "" {
			list = append(list, part{literal: literal})
		}
		var slot string
		slot, alternative, _ = strings.Cut(rest, "}")
		if slot != "" {
			rule, name, _ := strings.Cut(slot, "=")
			list = append(list, part{rule: rule, name: name})
		}
	}
	return list
}

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }
