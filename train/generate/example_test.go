package generate_test

import (
	"context"
	"fmt"
	"log"
	"os"

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
