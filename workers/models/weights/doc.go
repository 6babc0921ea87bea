// Package weights gives models their parameters. A Blueprint lists the tensors that a model
// wants, by the names of the original Wan and LingBot checkpoints, with their shapes; a Set
// answers for exactly those tensors, from safetensors files in either layout in the wild or,
// where that is asked for, from a seed. Everything in a file is taken for hostile: headers,
// indices and configurations have limits, and what breaks one is a typed error.
//
// The package knows file formats and shapes. It knows no arithmetic of a model, no job and
// no network, and it never reads pickles.
package weights
