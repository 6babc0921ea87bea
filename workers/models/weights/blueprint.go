package weights

import "math"

// Parameter is a tensor that a model wants, and how a seed makes it: numbers of a normal
// distribution with a standard deviation of Sigma around Centre.
type Parameter struct {
	Name          string
	Shape         []int
	Centre, Sigma float32
}

// Blueprint is what a model wants of a checkpoint.
type Blueprint struct {
	// Model is what errors call it.
	Model string
	// Parameters are all tensors, in the order of the model; no name comes twice.
	Parameters []Parameter
	// Rename turns a name of the diffusers layout into the model's own; names that it does not know
	// come back as they are. Nil: there is no such layout.
	Rename func(name string) string
	// Spare are names in files under which a tensor may lie that lies under another one too.
	Spare []string
	// Others are beginnings of names in files of what the model does not read: the rest of a larger network.
	Others []string
}

// Bytes is the size of all parameters, with so many bytes an element.
func (b Blueprint) Bytes(element int) int64 {
	var sum int64
	for _, p := range b.Parameters {
		sum += int64(element) * int64(Entry{Shape: p.Shape}.Len())
	}
	return sum
}

// Standard deviations of what a seed makes, beside 1/sqrt(inputs) of a weight.
const (
	sigmaBias = 0.02
	sigmaGain = 0.05
)

// list gathers the parameters of a model.
type list []Parameter

// table adds a tensor with a given deviation around zero.
func (l *list) table(name string, sigma float64, shape ...int) {
	*l = append(*l, Parameter{Name: name, Shape: shape, Sigma: float32(sigma)})
}

// weight adds name.weight [outputs, ...], which is summed over all but its first dimension.
func (l *list) weight(name string, shape ...int) {
	inputs := Entry{Shape: shape[1:]}.Len()
	l.table(name+".weight", 1/math.Sqrt(float64(inputs)), shape...)
}

// affine adds name.weight and name.bias [outputs].
func (l *list) affine(name string, shape ...int) {
	l.weight(name, shape...)
	l.table(name+".bias", sigmaBias, shape[0])
}

// gain adds the factors of a norm, around one.
func (l *list) gain(name string, shape ...int) {
	*l = append(*l, Parameter{Name: name, Shape: shape, Centre: 1, Sigma: sigmaGain})
}

// norm adds name.weight and name.bias of a norm.
func (l *list) norm(name string, n int) {
	l.gain(name+".weight", n)
	l.table(name+".bias", sigmaBias, n)
}
