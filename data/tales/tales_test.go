package tales

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// chance is the probability that form begins text, times next of what is left, summed over all ways
// to derive it. It reads the grammar by itself. When text is a prefix that ends within form, all ways to
// go on are counted: together they have the chance 1.
func chance(form, text string, drawn map[string]string, next func(rest string) float64) float64 {
	literal, after, _ := strings.Cut(form, "{")
	if len(text) < len(literal) && strings.HasPrefix(literal, text) {
		return 1
	}
	rest, ok := strings.CutPrefix(text, literal)
	if !ok {
		return 0
	}
	if after == "" {
		return next(rest)
	}
	slot, after, _ := strings.Cut(after, "}")
	rule, name, _ := strings.Cut(slot, "=")
	alternatives := alternativesOf(rule)
	if rule == "" {
		alternatives = []string{drawn[name]}
	}
	sum := 0.0
	for _, alternative := range alternatives {
		sum += chance(alternative, rest, drawn, func(left string) float64 {
			if name != "" && rule != "" {
				drawn[name] = rest[:len(rest)-len(left)]
			}
			return chance(after, left, drawn, next)
		})
	}
	return sum / float64(len(alternatives))
}

func alternativesOf(rule string) []string {
	if list, ok := grammar[rule]; ok {
		return list
	}
	list := strings.Fields(words[strings.ToLower(rule)])
	for i, word := range list {
		list[i] = strings.ReplaceAll(word, "_", " ")
		if rule != strings.ToLower(rule) {
			list[i] = strings.ToUpper(word[:1]) + list[i][1:]
		}
	}
	return list
}

// information is what texts of whole tales hold: -log2 of the chance that the grammar gives them.
// The last tale may be cut off.
func information(text string) float64 {
	bits := 0.0
	for text != "" {
		end := len(text)
		if i := strings.Index(text, "\n\n"); i >= 0 {
			end = i + 2
		}
		bits -= math.Log2(chance("{tale}", text[:end], make(map[string]string), func(rest string) float64 {
			if rest != "" {
				return 0
			}
			return 1
		}))
		text = text[end:]
	}
	return bits
}

// The choices' bits are the information in the text, summed over all its derivations. Were one of the
// texts ambiguous, its chance would be larger and its information smaller.
func TestBits(t *testing.T) {
	for seed, size := range map[uint64]int{sampleSeed: sampleSize, 7: 20_000, 0: 1, math.MaxUint64: 2_000} {
		tales := Write(seed, size)
		want := information(string(tales.Text))
		if got := tales.Bits(0); math.Abs(got-want) > 1e-6*want {
			t.Errorf("seed %d: choices of %.6f bits, text of %.6f", seed, got, want)
		}
	}
}

// A wrong text must not pass as a tale, nor an ambiguous grammar as a clear one: drawing one of two equal
// words is a bit of choice, but no information.
func TestInformationIsSharp(t *testing.T) {
	text := string(Write(3, 1).Text)
	if bits := information(strings.Replace(text, "the", "teh", 1)); !math.IsInf(bits, 1) {
		t.Errorf("a text outside the grammar has %v bits", bits)
	}
	saved := words["so"]
	defer func() {
		words["so"] = saved
		rules = cut()
	}()
	words["so"] = saved + " " + saved // each word in two ways
	rules = cut()
	tales := Write(3, 10_000)
	draws := float64(bytes.Count(tales.Text, []byte(", "))) / 2
	if got := tales.Bits(0) - information(string(tales.Text)); got < draws {
		t.Errorf("an ambiguous grammar adds %v bits of choices that are no information", got)
	}
}

// What is stated of the validation part is the information it holds given the text before it, up
// to the choices that are half written at the cut (at most one in each open rule).
func TestSampleEntropy(t *testing.T) {
	text, e := Sample()
	n := len(text)
	if e.Bytes != n || n < sampleSize || n > sampleSize+1000 || e.ValidationBytes != n/10 {
		t.Errorf("%+v of %d bytes", e, n)
	}
	whole := information(string(text))
	if got := e.BitsPerByte * float64(n); math.Abs(got-whole) > 1e-6*whole {
		t.Errorf("stated %v bits, the text has %v", got, whole)
	}
	rest := whole - information(string(text[:n-n/10]))
	if got := e.ValidationBitsPerByte * float64(n/10); got > rest+1e-6 || got < rest-8 {
		t.Errorf("stated %v bits of the validation part, it has %v", got, rest)
	}
}

func TestWriteRepeats(t *testing.T) {
	a, b, other := Write(5, 3000), Write(5, 3000), Write(6, 3000)
	if !bytes.Equal(a.Text, b.Text) || bytes.Equal(a.Text, other.Text) {
		t.Error("the text does not depend on the seed alone")
	}
	if !bytes.HasSuffix(a.Text, []byte(".\n\n")) {
		t.Errorf("ends with %q", a.Text[len(a.Text)-10:])
	}
}

// Every rule is used, every slot has a rule, and no list has an entry twice.
func TestGrammarIsWhole(t *testing.T) {
	used := map[string]bool{"tale": true}
	for rule, alternatives := range grammar {
		for _, a := range alternatives {
			for _, p := range parts(a) {
				if p.rule != "" && len(rules[p.rule]) == 0 {
					t.Errorf("%s: no rule %q", rule, p.rule)
				}
				used[p.rule] = true
			}
		}
	}
	for _, rule := range slices.Concat(slices.Collect(maps.Keys(grammar)), slices.Collect(maps.Keys(words))) {
		if !used[rule] && !used[capital(rule)] {
			t.Errorf("rule %q is not used", rule)
		}
		list := slices.Sorted(slices.Values(alternativesOf(rule)))
		if len(slices.Compact(slices.Clone(list))) != len(list) {
			t.Errorf("rule %q has an entry twice", rule)
		}
	}
}
