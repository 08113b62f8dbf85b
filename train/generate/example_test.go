package generate_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"tinylm/train/generate"
)

// The text arises piece by piece; Model.Text returns it in one.
func ExampleModel_WriteText() {
	model, err := generate.Load("runs/tales")
	if err != nil {
		log.Fatal(err)
	}
	r, err := model.WriteText(context.Background(), os.Stdout, "The old fox", generate.Options{
		MaxNewTokens: 80, Temperature: 0.8, Stop: []string{"\n\n"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "%d tokens", r.NewTokens)
}

// Several texts at once take less time than one after the other. Each is the one that WriteText would write.
func ExampleModel_WriteTexts() {
	model, err := generate.Load("runs/tales")
	if err != nil {
		log.Fatal(err)
	}
	texts := make([]strings.Builder, 4)
	var requests []generate.Request
	for i := range texts {
		o := generate.Defaults()
		o.Sample = i
		requests = append(requests, generate.Request{Prompt: "The old fox", Options: o, W: &texts[i]})
	}
	if _, err := model.WriteTexts(context.Background(), requests); err != nil {
		log.Fatal(err)
	}
	fmt.Println(texts[0].String())
}
