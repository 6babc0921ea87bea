// Package machine is where a model runs: the processor, or one GPU. It gives a backend to each part of a model, and says what a GPU has left. It knows no
// model beyond its parts, and no job.
package machine
