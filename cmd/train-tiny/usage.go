package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

var unknownFlag = regexp.MustCompile(`^unknown flag (--?)([^,]+)`)

// parseError words an error of the parser as ours: it names the nearest flag.
func parseError(err error, app *kong.Application) error {
	m := unknownFlag.FindStringSubmatch(err.Error())
	if m == nil {
		return hintWord(err)
	}
	node := selected(err)
	if node == nil {
		node = app.DefaultCmd
	}
	var names []string
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			names = append(names, f.Name)
		}
	}
	if near := nearest(m[2], names); near != "" {
		return fmt.Errorf("unknown flag %s%s; did you mean --%s?", m[1], m[2], near)
	}
	return fmt.Errorf("unknown flag %s%s; %s --help lists the flags", m[1], m[2], node.FullPath())
}

// selected is the command that an error of the parser is about, or nil.
func selected(err error) *kong.Node {
	if parse := (*kong.ParseError)(nil); errors.As(err, &parse) && parse.Context != nil {
		return parse.Context.Selected()
	}
	return nil
}

// rawString sets a string to an argument as it is. The parser's own way replaces bytes that are not UTF-8,
// which file names and prompts may have.
func rawString(ctx *kong.DecodeContext, target reflect.Value) error {
	t, err := ctx.Scan.PopValue("string")
	if err == nil {
		target.SetString(fmt.Sprint(t.Value))
	}
	return err
}

var extraWord = regexp.MustCompile(`^unexpected argument `)

// hintWord adds to the error of a word too many how commands are given.
func hintWord(err error) error {
	if !extraWord.MatchString(err.Error()) {
		return err
	}
	if node := selected(err); node != nil && len(node.Children) > 0 {
		var names []string
		for _, child := range node.Children {
			names = append(names, child.Name)
		}
		return fmt.Errorf("%w; %s has the commands %s", err, node.Name, strings.Join(names, ", "))
	}
	if node := selected(err); node != nil && node.Name != commands[0] {
		return fmt.Errorf("%w; %s --help shows what it takes", err, node.FullPath())
	}
	return fmt.Errorf("%w; the commands are %s, and without one a single text is trained on", err, strings.Join(commands, ", "))
}

// usualWords understands "help [COMMAND]" and "--version" as other programs do.
func usualWords(args []string) []string {
	switch {
	case len(args) > 0 && args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case len(args) == 1 && args[0] == "--version":
		return []string{"version"}
	}
	return args
}

var negative = regexp.MustCompile(`^-[0-9.]`)

// joinNegative writes "--flag -1" as "--flag=-1", since the parser takes "-1" for a flag.
func joinNegative(args []string) []string {
	var joined []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(joined, args[i:]...)
		}
		isFlag := strings.HasPrefix(args[i], "--") && !strings.Contains(args[i], "=")
		if isFlag && i+1 < len(args) && negative.MatchString(args[i+1]) {
			joined = append(joined, args[i]+"="+args[i+1])
			i++
			continue
		}
		joined = append(joined, args[i])
	}
	return joined
}

// nearest returns the name most like the one given, or "" if none is like it: at most one edit in three
// characters. Of equally near names it is the first.
func nearest(name string, among []string) string {
	name = strings.ReplaceAll(name, "_", "-")
	best, least := "", max(1, len(name)/3)+1
	for _, candidate := range among {
		if d := distance(name, candidate); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance is the number of insertions, deletions, replacements and swaps of neighbours that turn a into
// b (optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(replace, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// helpWithDefault adds the default of a flag to its help; that of a setting is in the presets.
func helpWithDefault(v *kong.Value) string {
	text, ok := v.Default, v.HasDefault
	if !ok {
		text, ok = defaultText(v.Name)
	}
	if !ok || slices.Contains([]string{"", "false", "0s"}, text) {
		return v.Help
	}
	return fmt.Sprintf("%s (%s)", v.Help, text)
}

// placeHolders gives short names to the values of flags in the help.
func placeHolders(k *kong.Kong) error {
	names := map[reflect.Kind]string{reflect.Int: "N", reflect.Int64: "N", reflect.Float64: "X", reflect.String: "NAME"}
	for _, command := range k.Model.Children {
		for _, f := range command.Flags {
			if name, ok := names[f.Target.Kind()]; ok && f.PlaceHolder == "" {
				f.PlaceHolder = name
			}
			if f.Target.Type() == reflect.TypeFor[time.Duration]() {
				f.PlaceHolder = "TIME"
			}
		}
	}
	return nil
}

// programName is how to call this program again, given how it was called.
func programName(arg0 string) string {
	if strings.Contains(filepath.ToSlash(arg0), "/go-build") { // go run builds it there
		return "go run ./cmd/train-tiny"
	}
	return quote(arg0)
}

var plainWord = regexp.MustCompile(`^[\p{L}\p{N}_@%+=:,./-]+$`)

// quote writes a word for a shell.
func quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
