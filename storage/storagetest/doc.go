// Package storagetest is the suite that every driver of storage must pass. It promises that a caller need not know which driver it has.
package storagetest
