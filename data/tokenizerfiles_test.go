package data

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mixedText holds what loaders trip over. The ids beside it and the files in testdata/byte and
// testdata/char belong together: the tokenizers library (0.23.3, the one behind transformers) read
// those files, encoded mixedText to these ids, and decoded them to mixedText.
const mixedText = "\ufeffab \x00\r\né e\u0301 中文 👩\u200d👧 <|end|>\"\\"

var (
	mixedByteIDs = []int32{239, 187, 191, 97, 98, 32, 0, 13, 10, 195, 169, 32, 101, 204, 129, 32, 228, 184, 173, 230, 150, 135,
		32, 240, 159, 145, 169, 226, 128, 141, 240, 159, 145, 167, 32, 60, 124, 101, 110, 100, 124, 62, 34, 92}
	mixedCharIDs = []int32{19, 8, 9, 3, 0, 2, 1, 14, 3, 11, 15, 3, 17, 18, 3, 21, 16, 20,
		3, 5, 13, 11, 12, 10, 13, 6, 4, 7}
)

func mixedTokenizers(t testing.TB) []Tokenizer {
	t.Helper()
	char, err := NewChar([]byte(mixedText))
	if err != nil {
		t.Fatal(err)
	}
	return []Tokenizer{NewByte(), char}
}

func TestFiles(t *testing.T) {
	for i, tok := range mixedTokenizers(t) {
		files, err := Files(tok, 128)
		if err != nil {
			t.Fatal(err)
		}
		names := []string{"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.json", "merges.txt"}
		if len(files) != len(names) {
			t.Errorf("%d files", len(files))
		}
		for _, name := range names {
			if diff := cmp.Diff(string(read(t, tok.Kind()+"/"+name)), string(files[name])); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", tok.Kind(), name, diff)
			}
		}
		loaded, err := LoadTokenizer(files[TokenizerFile])
		if err != nil {
			t.Fatal(err)
		}
		if loaded.Kind() != tok.Kind() || loaded.VocabSize() != tok.VocabSize() {
			t.Errorf("a %s tokenizer of %d tokens came back as %s of %d", tok.Kind(), tok.VocabSize(), loaded.Kind(), loaded.VocabSize())
		}
		ids, err := loaded.Encode([]byte(mixedText))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]int32{mixedByteIDs, mixedCharIDs}[i], ids); diff != "" {
			t.Errorf("%s ids (-want +got):\n%s", tok.Kind(), diff)
		}
		roundTrip(t, loaded, []byte(mixedText))
	}
}

// The merges of a character tokenizer must build each multi-byte character of vocab.json.
func TestCharMergesBuildCharacters(t *testing.T) {
	files, err := Files(mixedTokenizers(t)[1], 128)
	if err != nil {
		t.Fatal(err)
	}
	built := make(map[string]bool)
	for _, line := range strings.Split(strings.TrimSpace(string(files["merges.txt"])), "\n")[1:] {
		left, right, ok := strings.Cut(line, " ")
		if !ok || len([]rune(left)) > 1 && !built[left] || len([]rune(right)) != 1 {
			t.Errorf("merge %q has a side that does not exist yet", line)
		}
		built[left+right] = true
	}
	var vocab map[string]int
	if err := json.Unmarshal(files["vocab.json"], &vocab); err != nil {
		t.Fatal(err)
	}
	for token := range vocab {
		if token != EndOfTextLiteral && len([]rune(token)) > 1 && !built[token] {
			t.Errorf("no merges build %q", token)
		}
	}
}

func TestFilesUnknownKind(t *testing.T) {
	if _, err := Files(foreign{}, 8); err == nil {
		t.Error("a tokenizer of another package was saved")
	}
}

type foreign struct{ ByteTokenizer }

// charFile is a small valid file; TestLoadTokenizerRefuses spoils it.
const charFile = `{"added_tokens":[{"id":2,"content":"<|endoftext|>"}],"normalizer":null,` +
	`"pre_tokenizer":{"type":"Split","pattern":{"Regex":"[\\s\\S]"}},` +
	`"model":{"type":"BPE","vocab":{"a":0,"b":1,"<|endoftext|>":2},"merges":[]}}`

func TestLoadTokenizerRefuses(t *testing.T) {
	if _, err := LoadTokenizer([]byte(charFile)); err != nil {
		t.Fatalf("the file to spoil is refused: %v", err)
	}
	bytesFile := string(read(t, "byte/tokenizer.json"))
	for _, test := range []struct{ file, old, new, reason string }{
		{charFile, charFile, "", "not JSON"},
		{charFile, charFile, charFile[:100], "not JSON"},
		{charFile, charFile, strings.Repeat("[", 100_000), "not JSON"},
		{charFile, charFile, "[]", "must be an object, not []"},
		{charFile, charFile, "null", "must be an object"},
		{charFile, charFile, "{}", "model must be an object, not absent"},
		{charFile, `"a"`, "\"\xff\"", "not UTF-8"},
		{charFile, `"model":{`, `"MODEL":{`, "model must be an object, not absent"},
		{charFile, `{"added`, `{"model":{},"added`, `has "model" twice`},
		{charFile, `"BPE"`, `"WordPiece"`, `model of type "WordPiece"`},
		{charFile, `"BPE"`, `7`, `model of type 7`},
		{charFile, `[]`, `[["a","b"]]`, "has 1 merges"},
		{charFile, `[]`, `{}`, "merges must be a list"},
		{charFile, `"normalizer":null`, `"normalizer":{"type":"NFC"}`, "has a normalizer"},
		{charFile, `{"type":"Split"`, `{"type":"Whitespace"`, `pre-tokenizer {"type":"Whitespace"`},
		{charFile, `[\\s\\S]`, `.`, "pre-tokenizer"},
		{charFile, `{"Regex":"[\\s\\S]"}`, `3`, "pre-tokenizer"},
		{charFile, `{"Regex":"[\\s\\S]"}`, `"` + strings.Repeat("é", 99) + `"`, "é...; only"},
		{charFile, `"a":0`, `"a":0,"a":0`, `has "a" twice`},
		{charFile, `"a":0`, `"a":1`, `"a" and "b" have the same id 1`},
		{charFile, `"a":0`, `"a":3`, `the id 3 of "a" is outside 0 to 2`},
		{charFile, `"a":0`, `"a":-1`, `the id -1 of "a"`},
		{charFile, `"a":0`, `"a":0.5`, `whole number, not 0.5`},
		{charFile, `"a":0`, `"a":null`, `whole number, not null`},
		{charFile, `"a":0`, `"a":"0"`, `whole number, not "0"`},
		{charFile, `"a":0`, `"a":99999999999999999999`, `whole number`},
		{charFile, `"a":0`, `"ab":0`, `one character, not "ab"`},
		{charFile, `"a":0`, `"":0`, `one character, not ""`},
		{charFile, `"a":0,"b":1`, `"a":1,"b":0`, "code points"},
		{charFile, `"a":0`, `"\ud800":0,"\udfff":1`, "twice"},
		{charFile, `{"a":0,"b":1,"<|endoftext|>":2}`, `[]`, "vocab must be an object"},
		{charFile, `{"a":0,"b":1,"<|endoftext|>":2}`, `{}`, "last of the 0 tokens"},
		{charFile, `{"a":0,"b":1,"<|endoftext|>":2}`, `{"<|endoftext|>":0}`, "last of the 1 tokens"},
		{charFile, `"b":1,"<|endoftext|>":2`, `"<|endoftext|>":1,"b":2`, "last of the 3 tokens"},
		{charFile, `"id":2`, `"id":1`, "added_tokens must be"},
		{charFile, `[{"id":2,"content":"<|endoftext|>"}]`, `[]`, "added_tokens must be"},
		{charFile, `[{"id":2,"content":"<|endoftext|>"}]`, `{}`, "added_tokens must be a list"},
		{charFile, `"content":"<|endoftext|>"}`, `"content":"<|endoftext|>"},{"id":0,"content":"a"}`, "added_tokens must be"},
		{charFile, `"pre_tokenizer":{"type":"Split"`, `"pre_tokenizer":{"type":"ByteLevel"`, "has 257 tokens, not 3"},
		{bytesFile, `"a":97,"b":98`, `"b":97,"a":98`, `id 97 of a byte tokenizer must be "a", not "b"`},
	} {
		_, err := LoadTokenizer([]byte(strings.Replace(test.file, test.old, test.new, 1)))
		var typed *TokenizerFormatError
		if !errors.As(err, &typed) || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%.40q for %.40q: got %v, want %q", test.new, test.old, err, test.reason)
		}
	}
}

// What is accepted must work and must be saved as the same tokenizer again.
func FuzzLoadTokenizer(f *testing.F) {
	f.Add([]byte(charFile))
	for _, kind := range []string{"byte", "char"} {
		f.Add(read(f, kind+"/tokenizer.json"))
	}
	f.Add([]byte(`{"model":{"type":"BPE","vocab":{"a":0,"a":0},"merges":null},"pre_tokenizer":{"type":"ByteLevel"}}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		tok, err := LoadTokenizer(file)
		if err != nil {
			var typed *TokenizerFormatError
			if !errors.As(err, &typed) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("error %q", err)
			}
			return
		}
		var all []byte
		for id := range tok.VocabSize() {
			all = append(all, tok.TokenBytes(int32(id))...)
		}
		roundTrip(t, tok, all)
		files, err := Files(tok, 8)
		if err != nil {
			t.Fatal(err)
		}
		again, err := LoadTokenizer(files[TokenizerFile])
		if err != nil || again.Kind() != tok.Kind() || again.VocabSize() != tok.VocabSize() {
			t.Fatalf("saved and loaded again: %v, %v", again, err)
		}
	})
}
