import { expect } from 'chai'
import { brandPalette, contrastOf } from '#domain/images.ts'

/** Surfaces of base.css on which accented text lies. */
const LIGHT = ['#ffffff', '#f5f7f9', '#eef2f6']
const DARK = ['#10151b', '#181f27', '#202934', '#222c37']
const STEPS = ['00', '33', '66', '99', 'cc', 'ff']

describe('colours of a shop', () => {
  it('leave text legible on every surface, whatever the colour [PANEL-610]', () => {
    expect(contrastOf('#000000', '#ffffff')).to.equal(21)
    for (const red of STEPS)
      for (const green of STEPS)
        for (const blue of STEPS) {
          const color = `#${red}${green}${blue}`
          const { brand, onBrand, accent, accentPaper } = brandPalette(color)
          const pairs = [
            [brand, onBrand],
            ...[...LIGHT, accentPaper.light].map((paper) => [accent.light, paper]),
            ...[...DARK, accentPaper.dark].map((paper) => [accent.dark, paper]),
            // Text of main buttons.
            [accent.light, '#ffffff'],
            [accent.dark, '#0c1218'],
          ] as [string, string][]
          for (const [one, other] of pairs)
            expect(contrastOf(one, other), `${color}: ${one} on ${other}`).to.be.at.least(4.5)
        }
  })

  it('keep a colour that is legible as it is', () => {
    expect(brandPalette('#0b5fa5')).to.deep.include({ brand: '#0b5fa5', onBrand: '#ffffff' })
    expect(brandPalette('#0b5fa5').accent.light).to.equal('#0b5fa5')
    expect(brandPalette('#ffe000').onBrand).to.equal('#000000')
  })
})
