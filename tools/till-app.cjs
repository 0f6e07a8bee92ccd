const { createHash } = require('node:crypto')
const { mkdirSync, readFileSync, rmSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')

const ROOT = join(__dirname, '..')
const OUT = join(ROOT, 'dist', 'till')

const digestOf = (bytes) => createHash('sha256').update(bytes).digest('hex').slice(0, 12)

/** Writes a file under a name with the digest of its content; returns the address at which the service has it. */
function put(name, bytes) {
  const [stem, ending] = [name.slice(0, name.lastIndexOf('.')), name.slice(name.lastIndexOf('.'))]
  const hashed = `${stem}-${digestOf(bytes)}${ending}`
  writeFileSync(join(OUT, 'files', hashed), bytes)
  return `/caixa/files/${hashed}`
}

/** One program of the till, minified. */
function bundle(source, define = {}) {
  const { buildSync } = require('esbuild')
  const { outputFiles } = buildSync({
    absWorkingDir: ROOT,
    entryPoints: [source],
    bundle: true,
    write: false,
    minify: true,
    platform: 'browser',
    target: 'es2022',
    format: source.endsWith('main.tsx') ? 'esm' : 'iife',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    // The till has its own settings of the compiler, for the editor.
    tsconfigRaw: {},
    define: Object.fromEntries(Object.entries(define).map(([name, value]) => [name, JSON.stringify(value)])),
    logLevel: 'warning',
  })
  return Buffer.from(outputFiles[0].contents)
}

const manifest = (icons) => ({
  id: '/caixa',
  name: 'Caixa Tillbook',
  short_name: 'Caixa',
  description: 'Vende também sem internet.',
  lang: 'pt-BR',
  start_url: '/caixa',
  scope: '/caixa',
  display: 'standalone',
  background_color: '#f5f7f9',
  theme_color: '#0b5fa5',
  icons,
})

const page = ({ script, style, icon, touchIcon, app }) => `<!doctype html>
<html lang="pt-BR">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="theme-color" content="#0b5fa5">
<meta name="color-scheme" content="light dark">
<title>Caixa · Tillbook</title>
<link rel="icon" href="${icon}">
<link rel="apple-touch-icon" href="${touchIcon}">
<link rel="manifest" href="${app}">
<link rel="stylesheet" href="${style}">
<script type="module" src="${script}"></script>
</head>
<body>
<div id="caixa"></div>
<noscript>O caixa precisa de JavaScript.</noscript>
</body>
</html>
`

/** Builds the till into dist/till: hashed files, a page that names them, and the worker that keeps them. */
exports.buildTill = () => {
  rmSync(OUT, { recursive: true, force: true })
  mkdirSync(join(OUT, 'files'), { recursive: true })
  const base = readFileSync(join(ROOT, 'src/http/static/base.css'))
  const style = put('caixa.css', Buffer.concat([base, readFileSync(join(ROOT, 'till/till.css'))]))
  const icon = put('icone.svg', readFileSync(join(ROOT, 'till/icon.svg')))
  const icons = [192, 512].map((side) => {
    const src = put(`icone-${side}.png`, readFileSync(join(ROOT, `till/icon-${side}.png`)))
    return { src, sizes: `${side}x${side}`, type: 'image/png', purpose: 'any maskable' }
  })
  const app = put('caixa.webmanifest', Buffer.from(JSON.stringify(manifest(icons))))
  const journal = put('registros.js', bundle('till/journal-worker.ts'))
  const script = put('caixa.js', bundle('till/start-till.tsx', { JOURNAL_WORKER: journal }))
  const html = Buffer.from(page({ script, style, icon, touchIcon: icons[0].src, app }))
  const FILES = [script, style, journal, icon, app, ...icons.map(({ src }) => src)]
  writeFileSync(join(OUT, 'index.html'), html)
  writeFileSync(join(OUT, 'worker.js'), bundle('till/worker.ts', { FILES, VERSION: digestOf(html) }))
}

if (require.main === module) exports.buildTill()
