/** Tests that the public API of the package is the reviewed one: every declaration is a line of `wasm/js/api.txt`. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';

import { root } from './support/paths.mjs';

const PACKAGE = `${root}wasm/js`;
const ENTRY = `${PACKAGE}/dist/index.d.ts`;
const REVIEWED = `${PACKAGE}/api.txt`;
const ACCEPT = 'BLESS=1 node --test tests/browser/surface.test.mjs';

const ts = createRequire(`${PACKAGE}/package.json`)('typescript');
const printer = ts.createPrinter({ removeComments: true });

/** Returns the source text of a declaration in one line, without comments. */
function textOf(node) {
  return printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile()).replace(/\s+/g, ' ');
}

/** Returns the members of a class or an interface that an app can use; `undefined` for other declarations. */
function membersOf(node) {
  const isPrivate = ({ name, modifiers = [] }) =>
    (name !== undefined && ts.isPrivateIdentifier(name)) || modifiers.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword);
  return ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node) ? node.members.filter((member) => !isPrivate(member)) : undefined;
}

/** Lists the exports of an entry, and in parentheses the names of the package's types that the exports use. */
function surfaceOf(entry) {
  const { ES2022, Bundler } = { ...ts.ScriptTarget, ...ts.ModuleResolutionKind };
  const lib = ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'];
  const program = ts.createProgram([entry], { target: ES2022, module: ts.ModuleKind.ES2022, moduleResolution: Bundler, lib, types: [] });
  const checker = program.getTypeChecker();
  const original = (symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol);
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(entry)));
  const found = new Map(exported.map((symbol) => [original(symbol), symbol.name]));

  function findUsedTypes(node) {
    const symbol = ts.isIdentifier(node) ? checker.getSymbolAtLocation(node) : undefined;
    const used = symbol && original(symbol);
    const isOwn = used?.declarations?.some(({ parent }) => ts.isSourceFile(parent) && parent.fileName.startsWith(`${PACKAGE}/dist/`));
    if (isOwn && !found.has(used)) {
      found.set(used, `(${used.name})`);
    }
    ts.forEachChild(node, findUsedTypes);
  }

  const lines = [];
  // The loop also visits the types that it adds.
  for (const [symbol, name] of found) {
    for (const declaration of symbol.declarations) {
      const members = membersOf(declaration);
      for (const part of [...(members ?? [declaration]), ...(declaration.heritageClauses ?? [])]) {
        findUsedTypes(part);
      }
      const text = textOf(declaration);
      lines.push(`${name}: ${members === undefined ? text : text.slice(0, text.indexOf(' {'))}`);
      lines.push(...(members ?? []).map((member) => `${name}: ${textOf(member)}`));
    }
  }
  return lines.sort();
}

test('the public API is the one that was reviewed', () => {
  const now = surfaceOf(ENTRY);
  if (process.env.BLESS === '1') {
    writeFileSync(REVIEWED, `${now.join('\n')}\n`);
  }
  const reviewed = readFileSync(REVIEWED, 'utf8').trimEnd().split('\n');
  const changes = [
    ...reviewed.filter((line) => !now.includes(line)).map((line) => `- ${line}`),
    ...now.filter((line) => !reviewed.includes(line)).map((line) => `+ ${line}`),
  ];
  assert.ok(
    changes.length === 0,
    `wasm/js/api.txt is not the package's API. If you want these changes, run \`${ACCEPT}\`:\n${changes.join('\n')}`,
  );
});
