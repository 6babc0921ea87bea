// Package e2e holds the tests that look at the program from outside: real processes, real servers, real clients.
//
// It promises that what an operator and a client see holds together: the official SDKs and AIPerf work unmodified, no accepted job is lost or
// finished twice whatever process dies, and logs keep secrets. It knows the binary, its flags and its wire contract, and no package of it.
package e2e
