import { CHECKOUT } from '#domain/payment-link.ts'
import { assetsBelow, BASE_STYLE, FONT, FONT_STYLE, ICON, projectFile } from '#http/assets.ts'

export const ASSETS = `${CHECKOUT}/assets`

/** Static files of the pages. */
export const assets = assetsBelow(ASSETS, {
  'icon.svg': ICON,
  'inter.woff2': FONT,
  'font.css': FONT_STYLE,
  'base.css': BASE_STYLE,
  'checkout.css': {
    file: projectFile('src/public-pages/checkout/static/checkout.css'),
    type: 'text/css; charset=utf-8',
  },
  'checkout.js': {
    file: projectFile('src/public-pages/checkout/static/checkout.js'),
    type: 'text/javascript; charset=utf-8',
  },
})
