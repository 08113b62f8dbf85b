# Targets for people who work on tinylm. Users need none of them: go run and go test do.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
export CGO_ENABLED = 0

help: ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 14

.PHONY: help build test race lint fmt cover bench gradcheck demo compare-torch fuzz sample asm

build: ## the command, in the current directory
	go build -trimpath -ldflags='-s -w' -o train-tiny ./cmd/train-tiny

test: ## all tests
	go test ./...

race: ## the race detector; needs cgo and a C compiler (without the one test that is long and adds no concurrency)
	CGO_ENABLED=1 go test -race -skip RandomText ./data/... ./internal/device/... ./graph/machine ./train/...

lint: ## gofmt, vet, staticcheck
	test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...

fmt: ## format all files
	gofmt -w .

cover: ## share of statements that tests run
	go test -coverprofile=cover.out -coverpkg=./... ./...
	go tool cover -func=cover.out | tail -n 1

bench: ## all benchmarks
	go test -run='^$$' -bench=. -benchtime=1s ./...

gradcheck: ## every operator and a two-layer GPT against finite differences
	go run ./cmd/train-tiny gradcheck

demo: ## the README's first command, and whether it keeps what is promised of it (three minutes)
	go run ./internal/demo

compare-torch: ## the same 2000 steps here and in PyTorch, three seeds (an hour); needs python3 with torch, numpy, safetensors
	dir=$$(mktemp -d) && for s in 1 2 3; do go run ./internal/peers/opticks -seed $$s -out $$dir/$$s || exit 1; done && \
	python3 internal/peers/follow.py $$dir/1 $$dir/2 $$dir/3

fuzz: ## every fuzz target for a minute
	for p in $$(go list ./...); do \
	  for f in $$(go test -list='^Fuzz' $$p | grep '^Fuzz'); do go test -run='^$$' -fuzz="^$$f\$$" -fuzztime=60s $$p || exit 1; done; \
	done

sample: ## write the built-in sample text again; a test compares it with the generator
	go generate ./data/...

asm: ## generate the vector kernels' assembly again
	cd internal/device/cpu/simd/gen && go run . ..
