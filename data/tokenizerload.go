package data

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// TokenizerFormatError says why a tokenizer.json is refused.
type TokenizerFormatError struct {
	Reason string
}

func (e *TokenizerFormatError) Error() string { return TokenizerFile + ": " + e.Reason }

func formatErrorf(format string, args ...any) error {
	return &TokenizerFormatError{Reason: fmt.Sprintf(format, args...)}
}

// LoadTokenizer reads the byte or character tokenizer that Files wrote as tokenizer.json. Anything
// else, a tokenizer of another program included, is a *TokenizerFormatError.
func LoadTokenizer(tokenizerJSON []byte) (Tokenizer, error) {
	if !utf8.Valid(tokenizerJSON) {
		return nil, formatErrorf("is not UTF-8")
	}
	if !json.Valid(tokenizerJSON) {
		return nil, formatErrorf("is not JSON, or is cut off")
	}
	root, err := object("the file", tokenizerJSON)
	if err != nil {
		return nil, err
	}
	model, err := object("model", root["model"])
	if err != nil {
		return nil, err
	}
	kind, err := kindOf(root, model)
	if err != nil {
		return nil, err
	}
	tokens, err := loadVocabulary(model["vocab"])
	if err != nil {
		return nil, err
	}
	if err := checkEndOfText(root["added_tokens"], tokens); err != nil {
		return nil, err
	}
	if kind == "byte" {
		return loadByte(tokens)
	}
	return loadChar(tokens[:len(tokens)-1])
}

// kindOf tells "byte" from "char" by the pre-tokenizer, and refuses every model that is neither.
func kindOf(root, model map[string]json.RawMessage) (string, error) {
	var modelType string
	if err := json.Unmarshal(orNull(model["type"]), &modelType); err != nil || modelType != "BPE" {
		return "", formatErrorf("has a model of type %s; only the byte and char tokenizers of this program can be read", brief(model["type"]))
	}
	var merges []json.RawMessage
	if err := json.Unmarshal(orNull(model["merges"]), &merges); err != nil {
		return "", formatErrorf("merges must be a list, not %s", brief(model["merges"]))
	}
	if len(merges) > 0 {
		return "", formatErrorf("has %s merges; only the byte and char tokenizers of this program, which have none, can be read", Thousands(len(merges)))
	}
	if n := orNull(root["normalizer"]); string(n) != "null" {
		return "", formatErrorf("has a normalizer, which would change texts; only the byte and char tokenizers of this program can be read")
	}
	pre, err := object("pre_tokenizer", root["pre_tokenizer"])
	if err != nil {
		return "", err
	}
	var preType string
	if err := json.Unmarshal(orNull(pre["type"]), &preType); err == nil {
		switch preType {
		case "ByteLevel":
			return "byte", nil
		case "Split":
			var pattern struct{ Regex string }
			if err := json.Unmarshal(orNull(pre["pattern"]), &pattern); err == nil && pattern.Regex == charPattern {
				return "char", nil
			}
		}
	}
	return "", formatErrorf("has the pre-tokenizer %s; only the byte and char tokenizers of this program can be read", brief(root["pre_tokenizer"]))
}

// loadVocabulary returns the token strings by id; ids must be exactly 0 to n-1.
func loadVocabulary(raw json.RawMessage) ([]string, error) {
	vocab, err := object("model.vocab", raw)
	if err != nil {
		return nil, err
	}
	tokens := make([]string, len(vocab))
	taken := make([]bool, len(vocab))
	for token, raw := range vocab {
		var id int
		if err := json.Unmarshal(raw, &id); err != nil || string(raw) == "null" {
			return nil, formatErrorf("the id of %q must be a whole number, not %s", token, brief(raw))
		}
		if id < 0 || id >= len(vocab) {
			return nil, formatErrorf("the id %d of %q is outside 0 to %d, the ids of a vocabulary of %s without gaps",
				id, token, len(vocab)-1, Thousands(len(vocab)))
		}
		if taken[id] {
			first, second := min(tokens[id], token), max(tokens[id], token)
			return nil, formatErrorf("%q and %q have the same id %d", first, second, id)
		}
		tokens[id], taken[id] = token, true
	}
	return tokens, nil
}

// checkEndOfText wants the last token to be end-of-text, and no other token to be added.
func checkEndOfText(raw json.RawMessage, tokens []string) error {
	last := len(tokens) - 1
	if last < 1 || tokens[last] != EndOfTextLiteral {
		return formatErrorf("the last of the %s tokens must be %s", Thousands(len(tokens)), EndOfTextLiteral)
	}
	var added []struct {
		ID      *int
		Content *string
	}
	if err := json.Unmarshal(orNull(raw), &added); err != nil {
		return formatErrorf("added_tokens must be a list of tokens, not %s", brief(raw))
	}
	if len(added) != 1 || added[0].ID == nil || added[0].Content == nil ||
		*added[0].ID != last || *added[0].Content != EndOfTextLiteral {
		return formatErrorf("added_tokens must be %s with id %d alone, not %s", EndOfTextLiteral, last, brief(raw))
	}
	return nil
}

func loadByte(tokens []string) (Tokenizer, error) {
	want := spelledVocabulary(ByteTokenizer{})
	if len(tokens) != len(want) {
		return nil, formatErrorf("a byte tokenizer has %d tokens, not %s", len(want), Thousands(len(tokens)))
	}
	for id, token := range tokens {
		if token != want[id] {
			return nil, formatErrorf("id %d of a byte tokenizer must be %q, not %q", id, want[id], token)
		}
	}
	return ByteTokenizer{}, nil
}

// loadChar takes the tokens before end-of-text.
func loadChar(tokens []string) (Tokenizer, error) {
	chars := make([]rune, len(tokens))
	for id, token := range tokens {
		c, size := utf8.DecodeRuneInString(token)
		if size == 0 || size < len(token) {
			return nil, formatErrorf("id %d of a char tokenizer must be one character, not %q", id, token)
		}
		chars[id] = c
	}
	if !slices.IsSorted(chars) {
		return nil, formatErrorf("the ids of a char tokenizer must follow the code points, and these do not")
	}
	return newChar(chars), nil
}

// object reads a JSON object with exact names, refusing a name that comes twice. raw is valid JSON
// or nil; what names it in errors.
func object(what string, raw json.RawMessage) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(orNull(raw)))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return nil, formatErrorf("%s must be an object, not %s", what, brief(raw))
	}
	members := make(map[string]json.RawMessage)
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, formatErrorf("%s: %v", what, err)
		}
		name, _ := key.(string)
		if _, ok := members[name]; ok {
			return nil, formatErrorf("%s has %q twice", what, name)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, formatErrorf("%s: %v", what, err)
		}
		members[name] = value
	}
	return members, nil
}

// orNull stands JSON's null in for a member that is not there.
func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// brief shows the beginning of a JSON value in an error line.
func brief(raw json.RawMessage) string {
	if raw == nil {
		return "absent"
	}
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		return "invalid"
	}
	const most = 60
	if line.Len() <= most {
		return line.String()
	}
	cut := line.Bytes()[:most]
	for !utf8.Valid(cut) {
		cut = cut[:len(cut)-1]
	}
	return string(cut) + "..."
}
