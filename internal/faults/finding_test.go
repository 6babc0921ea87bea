package faults_test

// finding is one thing that is wrong. Its kind is a row of the figures of a run.
type finding struct {
	kind string
	text string
}

// The kinds of findings.
const (
	lost         = "lost"
	stuck        = "stuck"
	doubleCommit = "double commits"
	wrongBytes   = "wrong bytes"
	needlessRun  = "engine starts that no fault explains"
	wrongCourse  = "wrong states"
	leftOver     = "left over"
	wrongAnswer  = "wrong answers"
	wrongLog     = "log lines"
)

// findingKinds are all of them, in the order of the figures.
var findingKinds = []string{lost, stuck, doubleCommit, wrongBytes, needlessRun, wrongCourse, leftOver, wrongAnswer, wrongLog}

// String is the kind and what was seen.
func (f finding) String() string { return f.kind + ": " + f.text }
