// Batches with the official JavaScript SDK, unmodified, against a running server that asks for no key.
//
// Environment: SDK_DIR (folder with node_modules/openai), BASE_URL.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

const { SDK_DIR, BASE_URL } = process.env;
const { OpenAI, toFile } = createRequire(`${SDK_DIR}/`)('openai');
const client = new OpenAI({ baseURL: `${BASE_URL}/v1`, apiKey: 'any' });

const line = (custom_id, body) => JSON.stringify({ custom_id, method: 'POST', url: '/v1/videos', body });
const small = { model: 'terrain', size: '64x64', num_frames: 5 };

async function begun(lines) {
  const file = await client.files.create({ file: await toFile(Buffer.from(lines.join('\n')), 'in.jsonl'), purpose: 'batch' });
  return client.batches.create({ input_file_id: file.id, endpoint: '/v1/videos', completion_window: '24h', metadata: { by: 'js' } });
}

async function ended(id) {
  for (const deadline = Date.now() + 120_000; Date.now() < deadline; await delay(100)) {
    const batch = await client.batches.retrieve(id);
    if (['completed', 'failed', 'expired', 'cancelled'].includes(batch.status)) return batch;
  }
  return assert.fail(`${id} did not end`);
}

const rows = async (id) => (await (await client.files.content(id)).text()).trim().split('\n').map((text) => JSON.parse(text));

it('makes videos of a file', async () => {
  const first = await begun([line('a', { ...small, prompt: 'a lake' }), line('b', { ...small }), line('c', { ...small, prompt: 'a hill' })]);
  assert.equal(first.status, 'validating');
  assert.equal(first.metadata.by, 'js');
  const batch = await ended(first.id);
  assert.equal(batch.status, 'completed');
  assert.deepEqual(batch.request_counts, { total: 3, completed: 2, failed: 1 });
  const output = await rows(batch.output_file_id);
  assert.deepEqual(output.map((row) => row.custom_id), ['a', 'c']);
  for (const row of output) {
    assert.equal(row.response.status_code, 200);
    const content = await client.videos.downloadContent(row.response.body.id);
    assert.equal(Buffer.from(await content.arrayBuffer()).subarray(4, 8).toString(), 'ftyp');
  }
  const [refused] = await rows(batch.error_file_id);
  assert.equal(refused.custom_id, 'b');
  assert.equal(refused.response.body.error.param, 'prompt');
  const listed = [];
  for await (const one of client.batches.list({ limit: 1 })) listed.push(one.id);
  assert.ok(listed.includes(batch.id));
});

it('says what is wrong with a file', async () => {
  const batch = await ended((await begun(['{', line('a', {})])).id);
  assert.equal(batch.status, 'failed');
  assert.equal(batch.errors.data[0].line, 1);
});

it('cancels', async () => {
  const lines = Array.from({ length: 30 }, (_, i) => line(`l${i}`, { ...small, num_frames: 77, size: '832x480', prompt: 'a long flight' }));
  const first = await begun(lines);
  assert.equal((await client.batches.cancel(first.id)).status, 'cancelling');
  const batch = await ended(first.id);
  assert.equal(batch.status, 'cancelled');
  assert.equal(batch.request_counts.completed + batch.request_counts.failed, batch.request_counts.total || batch.request_counts.completed + batch.request_counts.failed);
});
