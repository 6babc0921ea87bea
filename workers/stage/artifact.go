package stage

// Port is an artifact's name together with its Go type. Only Artifact implements it; two ports are equal when name and type are.
type Port interface {
	// Name is unique among the artifacts of a graph.
	Name() string
	port()
}

// Artifact names what flows along an edge: one value of T for each sequence of a session.
type Artifact[T any] struct{ name string }

// NewArtifact names an artifact. Naming it twice with the same type gives the same artifact.
func NewArtifact[T any](name string) Artifact[T] { return Artifact[T]{name: name} }

// Name is the artifact's name.
func (a Artifact[T]) Name() string { return a.name }

func (a Artifact[T]) port() {}

// Of makes the artifact's value for one sequence.
func (a Artifact[T]) Of(v T) Value { return Value{port: a, v: v} }

// From finds the artifact among values. It is false when it is not there.
func (a Artifact[T]) From(values Values) (T, bool) {
	var zero T
	for i := range values {
		if values[i].port != Port(a) {
			continue
		}
		v, ok := values[i].v.(T)
		return v, ok || values[i].v == nil // a nil interface value has no dynamic type to assert
	}
	return zero, false
}

// Value is one artifact's value. Its type was checked by the compiler when Of made it.
type Value struct {
	port Port
	v    any
}

// Values are the artifacts of one sequence, each at most once.
type Values []Value

// portName is for messages: a zero Value has no port.
func portName(p Port) string {
	if p == nil {
		return "(none)"
	}
	return p.Name()
}
