package checkpoint

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"tinylm/layers"
)

// Names of tensors: Hugging Face's GPT-2, as its own files have them.
const (
	namePrefix = "transformer."
	headName   = "lm_head.weight"
	tokensName = namePrefix + "wte.weight"
)

// tensorSpec is a tensor that the model file of a GPT-2 must have. Matrices are (inputs, outputs).
type tensorSpec struct {
	name  string
	shape []int
	bias  bool // of a projection: zeros in the file of a model without biases
}

// specsOf lists the tensors that a model has in some file, in order.
type specsOf func(layers.Config) iter.Seq[tensorSpec]

// tensorSpecs lists the tensors of a model's file in order. It allocates one at a time, as c may
// come from a hostile file.
func tensorSpecs(c layers.Config) iter.Seq[tensorSpec] {
	width, inner := c.Width, c.Inner
	weight := func(name string, shape ...int) tensorSpec { return tensorSpec{name: name, shape: shape} }
	return func(yield func(tensorSpec) bool) {
		list := func(specs ...tensorSpec) bool {
			return !slices.ContainsFunc(specs, func(s tensorSpec) bool { return !yield(s) })
		}
		if !list(weight(tokensName, c.Vocab, width), weight(namePrefix+"wpe.weight", c.Context, width)) {
			return
		}
		for i := range c.Layers {
			block := fmt.Sprintf("%sh.%d.", namePrefix, i)
			if !list(
				weight(block+"ln_1.weight", width), weight(block+"ln_1.bias", width),
				weight(block+"attn.c_attn.weight", width, 3*width), tensorSpec{block + "attn.c_attn.bias", []int{3 * width}, true},
				weight(block+"attn.c_proj.weight", width, width), tensorSpec{block + "attn.c_proj.bias", []int{width}, true},
				weight(block+"ln_2.weight", width), weight(block+"ln_2.bias", width),
				weight(block+"mlp.c_fc.weight", width, inner), tensorSpec{block + "mlp.c_fc.bias", []int{inner}, true},
				weight(block+"mlp.c_proj.weight", inner, width), tensorSpec{block + "mlp.c_proj.bias", []int{width}, true},
			) {
				return
			}
		}
		if list(weight(namePrefix+"ln_f.weight", width), weight(namePrefix+"ln_f.bias", width)) && c.Untied {
			yield(weight(headName, c.Vocab, width))
		}
	}
}

// parameterSpecs lists the tensors that a model has: those of its file, without the biases that
// are only there for other readers.
func parameterSpecs(c layers.Config) iter.Seq[tensorSpec] {
	return func(yield func(tensorSpec) bool) {
		for s := range tensorSpecs(c) {
			if !(c.NoBias && s.bias) && !yield(s) {
				return
			}
		}
	}
}

// momentSpecs lists the tensors of training.safetensors: both moments of every parameter.
func momentSpecs(c layers.Config) iter.Seq[tensorSpec] {
	return func(yield func(tensorSpec) bool) {
		for _, moment := range []string{"m.", "v."} {
			for s := range parameterSpecs(c) {
				s.name = moment + s.name
				if !yield(s) {
					return
				}
			}
		}
	}
}

// match returns the tensors in the order of specs. One that is missing, of another shape, there
// twice or not asked for is an error.
func match(tensors []Tensor, specs iter.Seq[tensorSpec]) ([]Tensor, error) {
	byName := make(map[string]Tensor, len(tensors))
	for _, t := range tensors {
		if _, ok := byName[t.Name]; ok {
			return nil, fmt.Errorf("two tensors are named %s", t.Name)
		}
		byName[t.Name] = t
	}
	var ordered []Tensor
	for s := range specs {
		t, ok := byName[s.name]
		if !ok {
			return nil, fmt.Errorf("tensor %s is missing", s.name)
		}
		if !slices.Equal(t.Shape, s.shape) {
			return nil, fmt.Errorf("tensor %s has shape %s, the configuration wants %s", s.name, shapeText(t.Shape), shapeText(s.shape))
		}
		delete(byName, s.name)
		ordered = append(ordered, t)
	}
	for _, t := range tensors {
		if _, ok := byName[t.Name]; ok {
			return nil, fmt.Errorf("tensor %s is none of this model's", t.Name)
		}
	}
	return ordered, nil
}

// toFile returns what the model's file holds: the parameters, and zeros for absent biases.
func toFile(c layers.Config, parameters []Tensor) []Tensor {
	if !c.NoBias {
		return parameters
	}
	var tensors []Tensor
	for s := range tensorSpecs(c) {
		if s.bias {
			tensors = append(tensors, Tensor{Name: s.name, Shape: s.shape, Data: make([]float32, s.shape[0])})
			continue
		}
		tensors, parameters = append(tensors, parameters[0]), parameters[1:]
	}
	return tensors
}

// buffer matches tensors of old files that are no parameters but causal masks.
var buffer = regexp.MustCompile(`\.attn\.(bias|masked_bias)$`)

// fromFile returns the parameters of a model out of the tensors of its file, which may come from
// another program: names without prefix, and an output matrix that repeats the embedding, are taken.
func fromFile(c layers.Config, tensors []Tensor) ([]Tensor, error) {
	for i := range tensors {
		if t := &tensors[i]; t.Name != headName && !strings.HasPrefix(t.Name, namePrefix) {
			t.Name = namePrefix + t.Name
		}
	}
	if !c.Untied {
		var err error
		if tensors, err = dropTiedHead(tensors); err != nil {
			return nil, err
		}
	}
	tensors, err := match(tensors, tensorSpecs(c))
	if err != nil || !c.NoBias {
		return tensors, err
	}
	var parameters []Tensor
	i := 0
	for s := range tensorSpecs(c) {
		if t := tensors[i]; !s.bias {
			parameters = append(parameters, t)
		} else if slices.ContainsFunc(t.Data, func(v float32) bool { return v != 0 }) {
			return nil, fmt.Errorf("tensor %s is not zero in a model without biases", s.name)
		}
		i++
	}
	return parameters, nil
}

// dropTiedHead removes an output matrix that equals the token embedding.
func dropTiedHead(tensors []Tensor) ([]Tensor, error) {
	named := func(name string) int {
		return slices.IndexFunc(tensors, func(t Tensor) bool { return t.Name == name })
	}
	head, tokens := named(headName), named(tokensName)
	if head < 0 || tokens < 0 {
		return tensors, nil
	}
	if !slices.Equal(tensors[head].Data, tensors[tokens].Data) {
		return nil, fmt.Errorf("%s differs from %s, but the configuration says that they are tied", headName, tokensName)
	}
	return slices.Delete(tensors, head, head+1), nil
}
