// The verifier of the official JavaScript SDK, unmodified, over calls that a receiver got.
//
// Environment: SDK_DIR (folder with node_modules/openai), CALLS (a JSON file: a list of {secret, headers, body}).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { it } from 'node:test';

const { OpenAI } = createRequire(`${process.env.SDK_DIR}/`)('openai');
const client = new OpenAI({ apiKey: 'any', webhookSecret: 'whsec_AAAA' });
const calls = JSON.parse(readFileSync(process.env.CALLS, 'utf8'));

it('verifies every call', async () => {
  assert.ok(calls.length > 0);
  for (const { secret, headers, body } of calls) {
    const event = await client.webhooks.unwrap(body, headers, secret);
    assert.match(event.type, /^video\.(completed|failed)$/);
    assert.equal(event.id, headers['webhook-id']);
    await assert.rejects(client.webhooks.unwrap(`${body} `, headers, secret));
    await assert.rejects(client.webhooks.unwrap(body, headers));
  }
});
