// The official JavaScript SDK, unmodified, against a running server.
//
// Environment: SDK_DIR (folder with node_modules/openai), BASE_URL (a server that asks for no key), KEYS_URL with API_KEY and LIMITED_KEY
// (a server that asks for keys and allows two creates a minute), PICTURE (a PNG of 64x64 pixels).
import assert from 'node:assert/strict';
import { createReadStream, readFileSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

const { SDK_DIR, BASE_URL, KEYS_URL, API_KEY, LIMITED_KEY, PICTURE } = process.env;
const openai = createRequire(`${SDK_DIR}/`)('openai');
const { OpenAI, toFile } = openai;

const client = new OpenAI({ baseURL: `${BASE_URL}/v1`, apiKey: 'any' });
const small = { model: 'terrain', size: '64x64', num_frames: 5 };

async function done(id, c = client) {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await delay(50)) {
    const video = await c.videos.retrieve(id);
    if (video.status === 'completed') return video;
    assert.notEqual(video.status, 'failed', JSON.stringify(video.error));
  }
  assert.fail(`${id} did not end`);
}

const made = async (extra = {}) => done((await client.videos.create({ ...small, prompt: 'a valley', ...extra })).id);

/** @param {Promise<unknown>} promise @param {Function} kind @param {Record<string, unknown>} want */
async function refused(promise, kind, want) {
  const error = await promise.then(() => assert.fail('it was accepted'), (e) => e);
  assert.ok(error instanceof kind, `${error?.constructor?.name}: ${error?.message}`);
  for (const [name, value] of Object.entries(want)) assert.equal(error[name], value, `${name} of ${error.message}`);
  return error;
}

describe('create', () => {
  it('takes plain fields, and answers all thirteen keys', async () => {
    const video = await client.videos.create({ ...small, prompt: 'a river at dawn', seed: 0 });
    for (const key of ['id', 'object', 'model', 'status', 'progress', 'created_at', 'completed_at', 'expires_at', 'prompt', 'size', 'seconds',
      'remixed_from_video_id', 'error']) assert.ok(key in video, key);
    assert.match(video.id, /^video_[0-9A-Za-z]{26}$/);
    assert.equal(video.prompt, 'a river at dawn');
    assert.equal(video.seed, 0);
    const finished = await done(video.id);
    assert.equal(finished.progress, 100);
    assert.equal(finished.error, null);
  });

  it('takes a read stream, which is sent in chunks without a length', async () => {
    const video = await client.videos.create({ ...small, prompt: 'from a stream', input_reference: createReadStream(PICTURE) });
    await done(video.id);
  });

  it('takes a buffer, whatever its name', async () => {
    const picture = readFileSync(PICTURE);
    for (const name of ['猫.png', '../../../tmp/evil.png', 'quo"te.png', 'no-extension']) {
      const video = await client.videos.create({ ...small, prompt: 'from a buffer', input_reference: await toFile(picture, name) });
      await done(video.id);
    }
  });

  it('takes an object with a data URL', async () => {
    const image_url = `data:image/png;base64,${readFileSync(PICTURE).toString('base64')}`;
    await done((await client.videos.create({ ...small, prompt: 'from a URL', input_reference: { image_url } })).id);
  });

  it('takes an uploaded file by its id', async () => {
    const file = await client.files.create({ file: createReadStream(PICTURE), purpose: 'vision' });
    await done((await client.videos.create({ ...small, prompt: 'from a file', input_reference: { file_id: file.id } })).id);
    await refused(client.videos.create({ ...small, prompt: 'x', input_reference: { file_id: 'file-none' } }), openai.APIError, { param: 'input_reference' });
  });

  it('keeps numbers, booleans and nested extras', async () => {
    const video = await client.videos.create({ ...small, prompt: 'extras', fps: 8, extra_params: { seed: 5 }, metadata: { name: 'ü', '猫': '1' } });
    assert.equal(video.fps, 8);
    assert.equal(video.seed, 5);
    assert.deepEqual(video.metadata, { name: 'ü', '猫': '1' });
  });

  it('gives back prompts as they were', async () => {
    // Line breaks are left out: a form sends them as CRLF.
    for (const prompt of ['猫 🐈‍⬛ في الصباح', 'tab\ttab', '\ufeffmark', "quo\"te ' %22"]) {
      const video = await client.videos.create({ ...small, prompt });
      assert.equal(video.prompt, prompt);
      assert.equal((await client.videos.retrieve(video.id)).prompt, prompt);
    }
  });
});

describe('content', () => {
  let video;
  before(async () => { video = await made({ num_frames: 13 }); });

  const download = async (query, options) => {
    const response = await client.videos.downloadContent(video.id, query, options);
    return { type: response.headers.get('content-type'), status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
  };

  it('has the video, with and without its name', async () => {
    const plain = await download();
    assert.equal(plain.type, 'video/mp4');
    assert.equal(plain.bytes.subarray(4, 8).toString(), 'ftyp');
    assert.deepEqual((await download({ variant: 'video' })).bytes, plain.bytes);
  });

  it('has a thumbnail and a spritesheet', async () => {
    const thumbnail = await download({ variant: 'thumbnail' });
    assert.equal(thumbnail.type, 'image/webp');
    assert.equal(thumbnail.bytes.subarray(8, 12).toString(), 'WEBP');
    const sheet = await download({ variant: 'spritesheet' });
    assert.equal(sheet.type, 'image/jpeg');
    assert.equal(sheet.bytes[0], 0xff);
  });

  it('has ranges', async () => {
    const whole = await download();
    const part = await download({}, { headers: { Range: 'bytes=10-19' } });
    assert.equal(part.status, 206);
    assert.deepEqual(part.bytes, whole.bytes.subarray(10, 20));
  });

  it('refuses other variants', async () => {
    for (const variant of ['0', 'VIDEO', 'audio']) await refused(download({ variant }), openai.BadRequestError, { param: 'variant' });
  });
});

describe('videos from videos', () => {
  let source;
  before(async () => { source = await made(); });

  it('remixes', async () => {
    const video = await done((await client.videos.remix(source.id, { prompt: 'in winter' })).id);
    assert.equal(video.remixed_from_video_id, source.id);
    assert.equal(video.size, source.size);
  });

  it('edits', async () => {
    const video = await done((await client.videos.edit({ prompt: 'at night', video: { id: source.id } })).id);
    assert.equal(video.seconds, source.seconds);
  });

  it('extends', async () => {
    const video = await done((await client.videos.extend({ prompt: 'further', seconds: '1', video: { id: source.id } })).id);
    assert.equal(video.num_frames, source.num_frames + video.fps);
    assert.ok(Math.abs(Number(video.seconds) - (Number(source.seconds) + 1)) < 1e-5, video.seconds);
  });

  it('keeps characters', async () => {
    const mp4 = Buffer.from(await (await client.videos.downloadContent(source.id)).arrayBuffer());
    const character = await client.videos.createCharacter({ name: 'Ada', video: await toFile(mp4, 'ada.mp4') });
    assert.equal((await client.videos.getCharacter(character.id)).name, 'Ada');
    await refused(client.videos.getCharacter('char_none'), openai.NotFoundError, { status: 404 });
  });
});

describe('list and delete', () => {
  it('pages through all videos, each once', async () => {
    const ids = [];
    for (let i = 0; i < 5; i++) ids.push((await client.videos.create({ ...small, prompt: `page ${i}` })).id);
    ids.sort(); // those of the same millisecond are listed in the order of their ids
    const listed = [];
    for await (const video of client.videos.list({ limit: 1, order: 'asc' })) listed.push(video.id);
    assert.equal(new Set(listed).size, listed.length);
    assert.deepEqual(listed.slice(-5), ids);
    const newest = await client.videos.list({ limit: 2 });
    assert.deepEqual(newest.data.map((v) => v.id), ids.slice(-2).reverse());
    assert.equal(newest.has_more, true);
    assert.equal(newest.last_id, newest.data[1].id);
  });

  it('pages on when the row of its cursor is deleted', async () => {
    const first = await client.videos.list({ limit: 1 });
    await client.videos.delete(first.data[0].id);
    const next = await first.getNextPage();
    assert.equal(next.data.length, 1);
    assert.notEqual(next.data[0].id, first.data[0].id);
  });

  it('deletes', async () => {
    const video = await made();
    assert.deepEqual(await client.videos.delete(video.id), { id: video.id, object: 'video.deleted', deleted: true });
    await refused(client.videos.retrieve(video.id), openai.NotFoundError, { status: 404 });
    await refused(client.videos.downloadContent(video.id), openai.NotFoundError, { status: 404 });
    await refused(client.videos.delete(video.id), openai.NotFoundError, { status: 404 });
  });
});

describe('errors', () => {
  it('are bad requests that name the field', async () => {
    const bad = (fields) => client.videos.create({ ...small, prompt: 'x', ...fields });
    for (const [fields, param] of [
      [{ prompt: '' }, 'prompt'], [{ prompt: '   ' }, 'prompt'], [{ prompt: 'x'.repeat(32_001) }, 'prompt'], [{ size: 'wide' }, 'size'],
      [{ num_frames: undefined, seconds: '4.5' }, 'seconds'], [{ num_frames: undefined, seconds: '-1' }, 'seconds'],
      [{ num_frames: -1 }, 'num_frames'], [{ fps: 0 }, 'fps'], [{ no_such_field: 1 }, 'no_such_field'],
      [{ input_reference: { image_url: 'file:///etc/passwd' } }, 'input_reference'],
      [{ input_reference: { image_url: 'data:image/png;base64,@@@' } }, 'input_reference'],
      [{ input_reference: { image_url: 'http://169.254.169.254/' } }, 'input_reference'],
    ]) {
      const error = await refused(bad(fields), openai.BadRequestError, { param, type: 'invalid_request_error' });
      assert.ok(error.code, `${param}: no code`);
      assert.ok(error.requestID, `${param}: no request id`);
    }
  });

  it('are conflicts and missing routes as the SDK knows them', async () => {
    await refused(client.videos.retrieve('video_00000000000000000000000000'), openai.NotFoundError, { code: 'not_found' });
    const error = await refused(client.get('/no/such/route'), openai.NotFoundError, { status: 404 });
    assert.equal(error.type, 'invalid_request_error');
    await refused(client.put('/videos', { body: {} }), openai.APIError, { status: 405 });
    const running = await client.videos.create({ model: 'terrain', prompt: 'long', size: '1280x720', seconds: '20' });
    await refused(client.videos.downloadContent(running.id), openai.NotFoundError, { code: 'video_not_ready' });
    await refused(client.videos.remix(running.id, { prompt: 'early' }, { maxRetries: 0 }), openai.APIError, { code: 'video_not_completed' });
    await client.videos.delete(running.id);
  });

  it('are authentication errors without a key', async () => {
    const anonymous = new OpenAI({ baseURL: `${KEYS_URL}/v1`, apiKey: 'wrong' });
    await refused(anonymous.videos.list(), openai.AuthenticationError, { status: 401, code: 'invalid_api_key' });
    const known = new OpenAI({ baseURL: `${KEYS_URL}/v1`, apiKey: API_KEY });
    assert.deepEqual((await known.videos.list()).data, []);
  });

  it('are rate limits with the time to wait', async () => {
    const limited = new OpenAI({ baseURL: `${KEYS_URL}/v1`, apiKey: LIMITED_KEY, maxRetries: 0 });
    await limited.videos.create({ ...small, prompt: 'one' });
    await limited.videos.create({ ...small, prompt: 'two' });
    const error = await refused(limited.videos.create({ ...small, prompt: 'three' }), openai.RateLimitError, { status: 429 });
    assert.ok(Number(error.headers.get('retry-after')) > 0 && Number(error.headers.get('retry-after')) <= 60);
    for (let i = 0; i < 5; i++) await limited.videos.list();
  });

  it('are connection errors where nobody listens', async () => {
    const nobody = new OpenAI({ baseURL: 'http://127.0.0.1:1/v1', apiKey: 'any', maxRetries: 0 });
    await refused(nobody.videos.list(), openai.APIConnectionError, {});
  });
});

describe('retries', () => {
  // A server in the middle that loses its first answers, as a broken connection does, after the request was served.
  let proxy, lost, seen;
  before(async () => {
    proxy = http.createServer((req, res) => {
      const forward = http.request(BASE_URL + req.url, { method: req.method, headers: { ...req.headers, host: new URL(BASE_URL).host } }, (answer) => {
        const chunks = [];
        answer.on('data', (c) => chunks.push(c));
        answer.on('end', () => {
          seen.push(req.headers['x-stainless-retry-count']);
          if (lost-- > 0) return req.socket.destroy();
          res.writeHead(answer.statusCode, answer.headers);
          res.end(Buffer.concat(chunks));
        });
      });
      req.pipe(forward);
    });
    await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  });
  after(() => proxy.close());

  const through = () => new OpenAI({ baseURL: `http://127.0.0.1:${proxy.address().port}/v1`, apiKey: 'any' });
  const count = async (prompt) => {
    let n = 0;
    for await (const video of client.videos.list({ limit: 100 })) if (video.prompt === prompt) n++;
    return n;
  };

  it('make one video with an idempotency key', async () => {
    [lost, seen] = [1, []];
    const options = { headers: { 'Idempotency-Key': 'a lost answer' } };
    const video = await through().videos.create({ ...small, prompt: 'lost, with a key' }, options);
    assert.deepEqual(seen, ['0', '1']);
    assert.equal(await count('lost, with a key'), 1);
    const again = await client.videos.create({ ...small, prompt: 'lost, with a key' }, options);
    assert.equal(again.id, video.id);
    await refused(client.videos.create({ ...small, prompt: 'another' }, { ...options, maxRetries: 0 }), openai.ConflictError, { code: 'idempotency_mismatch' });
  });

  it('make one video without a key too', async () => {
    [lost, seen] = [2, []];
    const input_reference = await toFile(readFileSync(PICTURE), 'p.png');
    await through().videos.create({ ...small, prompt: 'lost, without a key', seed: 4, input_reference });
    assert.deepEqual(seen, ['0', '1', '2']);
    assert.equal(await count('lost, without a key'), 1);
  });

  it('are no reason to take two equal requests for one', async () => {
    const [a, b] = [await client.videos.create({ ...small, prompt: 'twice' }), await client.videos.create({ ...small, prompt: 'twice' })];
    assert.notEqual(a.id, b.id);
  });
});
