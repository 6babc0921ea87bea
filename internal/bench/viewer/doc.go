// Package viewer watches a live session as a browser would, for tests and benchmarks: it joins with a token, puts the picture's packets together again, counts
// and keeps frames, hears data messages and can send them.
//
// It promises to count what really arrived: a frame counts once, when all its packets are there. It decodes nothing and knows nothing of the program.
package viewer
