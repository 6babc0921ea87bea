package config

import (
	"encoding/base64"
	"errors"
	"net/netip"
	"strconv"
)

// Outbound is the way out to addresses that clients name: receivers of webhooks, and pictures by URL.
type Outbound struct {
	AllowNetworks []string `key:"allow_networks" doc:"Networks of your own that calls to addresses of clients may reach although they are not public, such as 10.1.0.0/16."`
	AllowPorts    []string `key:"allow_ports" doc:"Ports that calls to addresses of clients may reach besides 80 and 443."`
	FetchImages   bool     `key:"fetch_images" flag:"fetch-images" doc:"Fetch reference pictures that clients give by URL."`
}

// Webhooks are the endpoints that tenants register.
type Webhooks struct {
	AllowHTTP      bool     `key:"allow_http" doc:"Take endpoints with http:// addresses too; everybody on the way can read the events."`
	PerTenantMax   int      `key:"per_tenant_max" doc:"Endpoints that one tenant may have."`
	SecretKeys     []string `key:"secret_keys" doc:"Keys of 32 bytes, in base64, with which signing secrets are sealed in Redis; the first one seals, all of them open." secret:"all"`
	SecretKeysFile string   `key:"secret_keys_file" doc:"File that holds secret_keys, one a line. The command dev makes one in data_dir."`
}

// Keys are SecretKeys, decoded.
func (w Webhooks) Keys() ([][]byte, error) {
	var out [][]byte
	for _, text := range w.SecretKeys {
		key, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(key) != secretKeyBytes {
			return nil, errors.New("want base64 of 32 bytes, as openssl rand -base64 32 makes it")
		}
		out = append(out, key)
	}
	return out, nil
}

// secretKeyBytes is the length of a key that seals secrets.
const secretKeyBytes = 32

// Networks are AllowNetworks, parsed.
func (o Outbound) Networks() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range o.AllowNetworks {
		p, err := netip.ParsePrefix(text)
		if err != nil || p != p.Masked() {
			return nil, errors.New("want networks such as 10.1.0.0/16")
		}
		out = append(out, p)
	}
	return out, nil
}

// Ports are AllowPorts, parsed.
func (o Outbound) Ports() ([]int, error) {
	var out []int
	for _, text := range o.AllowPorts {
		port, err := strconv.Atoi(text)
		if err != nil || port < 1 || port > 65535 {
			return nil, errors.New("want ports from 1 to 65535")
		}
		out = append(out, port)
	}
	return out, nil
}

// fine says whether a value parsed.
func fine[T any](_ T, err error) bool { return err == nil }
