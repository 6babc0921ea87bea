// Package console is the page at the root of the API: videos are made, followed and played there, and live worlds are flown through and shown to others.
//
// The page is made of the plain scripts in src, built by `make console` into dist, which is kept in the repository so that building the program needs no
// Node. It asks no other host for anything but the media server, talks to the API as any client does, and keeps a key for as long as its tab is open.
//
// The package must not know the API, its records or the media server: it serves files.
package console
