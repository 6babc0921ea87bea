// Package wan holds the networks of the Wan family over kernels.Backend: the causal video VAE, the diffusion transformer in its
// plain and in its causal, camera-controlled form (LingBot-World), and the samplers. One code runs on every backend; a network never
// asks which.
//
// Weights come through the interface Weights, dimensions from a Config. A network is built once; its work space is laid out for one
// size and shared by its sessions, whose calls must not overlap. What a session remembers, the keys and values of a transformer and
// the last frames before each convolution of the VAE, is a value of its own.
//
// It promises that a video made chunk by chunk has the values of the whole clip run at once. It knows no file, no job and no network.
// The formulas are in docs/models.md.
package wan
