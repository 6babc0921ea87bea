// Package devstack runs the real servers that development and tests stand on, as children of this process: redis-server, an S3 gateway
// and a media server.
//
// It promises that a child listens on loopback only, keeps its files in the given directory, and dies with its parent. It knows nothing of
// the program: it hands out addresses and credentials.
package devstack
