// embed.mjs DIST OUT: the built dashboard as a C++ source, each file compressed, with its type and
// a digest of its content.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';

const [dist, out] = process.argv.slice(2);
const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

function filesIn(folder) {
  return readdirSync(folder)
    .sort()
    .map((name) => join(folder, name))
    .flatMap((path) => (statSync(path).isDirectory() ? filesIn(path) : [path]));
}

// Octal escapes of three digits end by themselves, whatever follows.
function literal(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 64) {
    let line = '';
    for (const byte of bytes.subarray(at, at + 64)) line += '\\' + byte.toString(8).padStart(3, '0');
    lines.push(`    "${line}"`);
  }
  return lines.join('\n');
}

const parts = [];
const rows = [];
filesIn(dist).forEach((path, index) => {
  const bytes = readFileSync(path);
  const type = types[extname(path)];
  if (!type) throw new Error(`embed.mjs: no content type is known for ${path}`);
  const packed = gzipSync(bytes, { level: 9 });
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  parts.push(`constexpr char kFile${index}[] =\n${literal(packed)};`);
  rows.push(
    `    {"/${relative(dist, path)}", "${type}", "\\"${digest}\\"", {kFile${index}, ${packed.length}}},`,
  );
});
const places = JSON.parse(readFileSync(new URL('../src/places.json', import.meta.url), 'utf8'));

const text = `// Made by web/scripts/embed.mjs.
#include "api/pages/pages.h"

// The standard asks compilers for literals of 64 KiB only; those in use take far longer ones.
#pragma GCC diagnostic ignored "-Woverlength-strings"

namespace vortex::api {
namespace {

${parts.join('\n')}

constexpr PageFile kFiles[] = {
${rows.join('\n')}
};
constexpr std::string_view kPlaces[] = {${places.map((place) => JSON.stringify(place)).join(', ')}};

}  // namespace

Dashboard dashboard() { return {kFiles, kPlaces}; }

}  // namespace vortex::api
`;
writeFileSync(out, text);
