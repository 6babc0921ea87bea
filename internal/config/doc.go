// Package config is the one documented set of settings: flags over the environment (TELEFUSER_*) over a YAML file over defaults.
//
// It is the only reader of the environment. A setting is one field of Config; its key, flag, variable, default and sentence are all
// taken from there, so that --help, docs/configuration.md and `telefuser config` cannot disagree.
package config
