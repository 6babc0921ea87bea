// Package enginepb is the engine protocol's generated code. engine.proto is the source; generate.sh pins the versions.
package enginepb

//go:generate sh generate.sh
