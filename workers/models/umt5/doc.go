// Package umt5 turns a prompt into what a video model reads: the tokenizer of a SentencePiece
// unigram model, the cleaning of text that Wan does before it, and the UMT5 encoder, written
// over a kernels.Backend. Tokenizer files are taken for hostile: they have limits, and what breaks
// one is a typed error.
//
// The package knows no video, no job and no network.
package umt5
