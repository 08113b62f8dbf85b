package data

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// TokenizerFile is the name of the file that LoadTokenizer reads.
const TokenizerFile = "tokenizer.json"

// Files returns the contents of the files that keep tok in a Hugging Face model directory, by
// name: tokenizer.json, tokenizer_config.json, special_tokens_map.json, and vocab.json with
// merges.txt for older readers. contextLength is the longest window of the model, in tokens.
//
// A character tokenizer is right only through tokenizer.json (or the vocab.json and merges.txt,
// in a reader that tolerates merges without ids); a byte tokenizer is right through either.
func Files(tok Tokenizer, contextLength int) (map[string][]byte, error) {
	var model tokenizerJSON
	var spelled vocabulary // vocab.json: letters of the byte alphabet
	var merges [][2]string
	switch t := tok.(type) {
	case ByteTokenizer:
		model, spelled = byteJSON(), spelledVocabulary(t)
	case *CharTokenizer:
		model, spelled, merges = charJSON(t), spelledVocabulary(t), charMerges(t.bytes)
	default:
		return nil, fmt.Errorf("a tokenizer of kind %q cannot be saved", tok.Kind())
	}
	text := new(strings.Builder)
	text.WriteString("#version: 0.2\n")
	for _, m := range merges {
		fmt.Fprintf(text, "%s %s\n", m[0], m[1])
	}
	files := map[string][]byte{"merges.txt": []byte(text.String())}
	for name, v := range map[string]any{
		TokenizerFile: model,
		"vocab.json":  spelled,
		"tokenizer_config.json": tokenizerConfig{
			Class: "PreTrainedTokenizerFast", BOS: EndOfTextLiteral, EOS: EndOfTextLiteral, MaxLength: contextLength,
		},
		"special_tokens_map.json": specialTokens{BOS: EndOfTextLiteral, EOS: EndOfTextLiteral},
	} {
		var err error
		if files[name], err = marshal(v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return files, nil
}

// marshal writes v as one line of JSON with "<" and ">" left readable.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// tokenizerJSON is the layout of tokenizer.json as the tokenizers library reads it.
type tokenizerJSON struct {
	Version       string       `json:"version"`
	Truncation    *struct{}    `json:"truncation"`
	Padding       *struct{}    `json:"padding"`
	AddedTokens   []addedToken `json:"added_tokens"`
	Normalizer    *struct{}    `json:"normalizer"`
	PreTokenizer  any          `json:"pre_tokenizer"`
	PostProcessor byteLevel    `json:"post_processor"`
	Decoder       any          `json:"decoder"`
	Model         bpeModel     `json:"model"`
}

type addedToken struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

type byteLevel struct {
	Type           string `json:"type"` // "ByteLevel"
	AddPrefixSpace bool   `json:"add_prefix_space"`
	TrimOffsets    bool   `json:"trim_offsets"`
	UseRegex       bool   `json:"use_regex"`
}

// charSplit is the pre-tokenizer of the character tokenizer. Its pattern must match a newline, which
// "." does not; no pre-tokenizer at all gives the same ids, but some readers fail on null.
type charSplit struct {
	Type     string            `json:"type"` // "Split"
	Pattern  map[string]string `json:"pattern"`
	Behavior string            `json:"behavior"`
	Invert   bool              `json:"invert"`
}

// fuse joins tokens without spaces.
type fuse struct {
	Type string `json:"type"` // "Fuse"
}

type bpeModel struct {
	Type                    string      `json:"type"` // "BPE"
	Dropout                 *float64    `json:"dropout"`
	UnkToken                *string     `json:"unk_token"`
	ContinuingSubwordPrefix string      `json:"continuing_subword_prefix"`
	EndOfWordSuffix         string      `json:"end_of_word_suffix"`
	FuseUnk                 bool        `json:"fuse_unk"`
	ByteFallback            bool        `json:"byte_fallback"`
	IgnoreMerges            bool        `json:"ignore_merges"`
	Vocab                   vocabulary  `json:"vocab"`
	Merges                  [][2]string `json:"merges"`
}

type tokenizerConfig struct {
	Class          string `json:"tokenizer_class"`
	BOS            string `json:"bos_token"`
	EOS            string `json:"eos_token"`
	AddPrefixSpace bool   `json:"add_prefix_space"`
	CleanUpSpaces  bool   `json:"clean_up_tokenization_spaces"`
	MaxLength      int    `json:"model_max_length"`
}

type specialTokens struct {
	BOS string `json:"bos_token"`
	EOS string `json:"eos_token"`
}

// charPattern matches any one character, newlines included.
const charPattern = `[\s\S]`

func byteJSON() tokenizerJSON {
	j := commonJSON(spelledVocabulary(ByteTokenizer{}))
	j.PreTokenizer = byteLevel{Type: "ByteLevel"}
	j.Decoder = byteLevel{Type: "ByteLevel", UseRegex: true}
	return j
}

func charJSON(t *CharTokenizer) tokenizerJSON {
	vocab := make(vocabulary, 0, t.VocabSize())
	for _, c := range t.chars {
		vocab = append(vocab, string(c))
	}
	j := commonJSON(append(vocab, EndOfTextLiteral))
	j.PreTokenizer = charSplit{Type: "Split", Pattern: map[string]string{"Regex": charPattern}, Behavior: "Isolated"}
	j.Decoder = fuse{Type: "Fuse"}
	return j
}

// commonJSON is what the files of all kinds share. The last entry of vocab is end-of-text.
func commonJSON(vocab vocabulary) tokenizerJSON {
	return tokenizerJSON{
		Version:       "1.0",
		AddedTokens:   []addedToken{{ID: len(vocab) - 1, Content: EndOfTextLiteral, Special: true}},
		PostProcessor: byteLevel{Type: "ByteLevel", UseRegex: true},
		Model:         bpeModel{Type: "BPE", Vocab: vocab, Merges: [][2]string{}},
	}
}

// vocabulary lists token strings by id. In JSON it is an object from string to id, in order of ids.
type vocabulary []string

// MarshalJSON writes the object.
func (v vocabulary) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for id, token := range v {
		key, err := marshal(token)
		if err != nil {
			return nil, err
		}
		b.WriteByte("{,"[min(id, 1)])
		fmt.Fprintf(&b, "%s:%d", bytes.TrimSuffix(key, []byte("\n")), id)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// spelledVocabulary returns the tokens of tok in the byte alphabet, end-of-text as its literal.
func spelledVocabulary(tok Tokenizer) vocabulary {
	v := make(vocabulary, tok.VocabSize())
	for id := range v {
		v[id] = spell(tok.TokenBytes(int32(id)))
	}
	v[tok.EndOfText()] = EndOfTextLiteral
	return v
}
