import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminKit } from '../admin-kit.test.ts';
import { readUi } from './read-ui.ts';

const files = readUi();
const paths = new Set<string>(files.map(({ path }) => path));

test('the page and all that it loads are there, with types of their own', async () => {
  const { call } = adminKit();
  for (const { path, type } of files) {
    const { status, headers, text } = await call('GET', path, { as: null });
    assert.equal(status, 200, path);
    assert.equal(headers['content-type'], type);
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['cache-control'], 'no-cache');
    assert.equal(headers['set-cookie'], undefined);
    assert.ok(text.length > 0);
  }
  const page = files.find(({ path }) => path === '/ui')?.content ?? '';
  for (const [, link] of page.matchAll(/(?:src|href)="(ui\/[^"]+)"/g)) assert.ok(paths.has(`/${link}`), link);
  assert.doesNotMatch(page, /<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=/i, 'nothing inline');
});

test('scripts are plain modules that import what is served', () => {
  const scripts = files.filter(({ path }) => path.endsWith('.js'));
  assert.ok(scripts.length > 25);
  for (const { path, content } of scripts) {
    assert.doesNotMatch(content, /\binterface \w+|: readonly |import type|sourceMappingURL/, path);
    for (const [, from] of content.matchAll(/\bfrom\s*'([^']+)'/g))
      assert.ok(paths.has(new URL(from ?? '', `http://x${path}`).pathname), `${path} imports ${from}`);
  }
});

test('no file leads elsewhere', () => {
  for (const { path, content } of files)
    for (const [url] of content.matchAll(/\bhttps?:\/\/[^\s'"`)]+/g))
      assert.match(url, /^http:\/\/www\.w3\.org\//, path);
});

test('tests, reports and settings are not served', () => {
  for (const path of paths) assert.doesNotMatch(path, /\.test\.|\.json$|\.md$|\/report\/|\.ts$/);
});

test('the policy lets only own scripts and styles run, without markup made of text', async () => {
  const { call } = adminKit();
  const policy = String((await call('GET', '/ui', { as: null })).headers['content-security-policy']);
  for (const part of [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ])
    assert.ok(policy.split('; ').includes(part), part);
  assert.doesNotMatch(policy, /unsafe|\*|https?:/);
});

test('what the client has already is not sent again', async () => {
  const { call } = adminKit();
  const { headers } = await call('GET', '/ui', { as: null });
  const etag = String(headers['etag']);
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
    const again = await call('GET', '/ui', { as: null, headers: { 'if-none-match': known } });
    assert.deepEqual([again.status, again.text, again.headers['etag']], [304, '', etag]);
    assert.ok(again.headers['content-security-policy'] !== undefined);
  }
  assert.equal((await call('GET', '/ui', { as: null, headers: { 'if-none-match': '"other"' } })).status, 200);
  const page = await call('GET', '/admin/docs', { as: null, headers: { 'if-none-match': '*' } });
  assert.equal(page.status, 200, 'only files of the dashboard are static');
});

test('a path with a slash at its end leads to the page', async () => {
  const { call } = adminKit();
  assert.match((await call('GET', '/ui/', { as: null })).text, /url=\.\.\/ui"/);
});
