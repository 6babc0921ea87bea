// Package faults breaks the production topology on purpose and holds it to its promises: real redis-server, S3 server, two APIs and two workers
// with scripted engines, and a link that can be cut between each of them.
//
// It promises that after every fault the same invariants are looked at (invariants_test.go), that a random schedule follows from its seed, and that
// each test names the fault of docs/reliability.md that it stands for. It knows the program from outside: by its commands, its wire contract, its
// logs, its Redis keys and its objects. It has tests only.
package faults
