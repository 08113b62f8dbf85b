// Generate writes the sample text and its entropy: go run ./data/tales/generate (from the top of the
// repository), or go generate ./data.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"tinylm/data/tales"
)

func main() {
	log.SetFlags(0)
	dir := flag.String("dir", "data/sample", "where to write tales.txt and tales.json")
	flag.Parse()
	text, entropy := tales.Sample()
	facts, err := json.MarshalIndent(entropy, "", "\t")
	if err != nil {
		log.Fatal(err)
	}
	for name, content := range map[string][]byte{"tales.txt": text, "tales.json": append(facts, '\n')} {
		if err := os.WriteFile(filepath.Join(*dir, name), content, 0o644); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("%d bytes, %.4f bits per byte, %.4f in the validation part\n",
		len(text), entropy.BitsPerByte, entropy.ValidationBitsPerByte)
}
