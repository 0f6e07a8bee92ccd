import { createRequire } from 'node:module'
import { assetsBelow, BASE_STYLE, FONT, FONT_STYLE, ICON, projectFile } from '#http/assets.ts'
import { PANEL } from './page-context.ts'

const require = createRequire(import.meta.url)

/** Static files of the panel, and scripts of packages. */
const assets = assetsBelow(`${PANEL}/assets`, {
  'inter.woff2': FONT,
  'font.css': FONT_STYLE,
  'base.css': BASE_STYLE,
  'panel.css': { file: projectFile('src/panel/static/panel.css'), type: 'text/css; charset=utf-8' },
  'panel.js': { file: projectFile('src/panel/static/panel.js'), type: 'text/javascript; charset=utf-8' },
  'passkey.js': { file: projectFile('src/panel/static/passkey.js'), type: 'text/javascript; charset=utf-8' },
  'camera.js': { file: projectFile('src/panel/static/camera.js'), type: 'text/javascript; charset=utf-8' },
  'icon.svg': ICON,
  'icons.svg': { file: projectFile('src/panel/static/icons.svg'), type: 'image/svg+xml' },
  'htmx.js': { file: require.resolve('htmx.org/dist/htmx.min.js'), type: 'text/javascript; charset=utf-8' },
  'live-worker.js': { file: projectFile('src/panel/static/live-worker.js'), type: 'text/javascript; charset=utf-8' },
})

export const asset = assets.address
export const serveAssets = assets.serve
