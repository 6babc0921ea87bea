// Package outbound is the way out to addresses that strangers name: receivers of webhooks, and pictures by URL.
//
// It promises that no such call reaches anything but the public internet and the networks that the operator has named. The check is made at the socket, on the
// address that is about to be connected to, after the name was resolved and for every hop of a redirect; so there is no spelling of an address, no name and no answer
// of a name server that leads around it. What the text of a URL looks like decides nothing about safety. Proxies of the environment are not used, nothing is
// sent along but what the caller gives, every connection is made anew, and size and time are bounded.
//
// A blocked address and one that does not answer look the same to whoever asked: one error, ErrUnreachable, no sooner than FailureFloor.
//
// It must not know who calls and what for. It stands on nothing of ours.
package outbound
