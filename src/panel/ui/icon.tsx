import { asset } from '../assets.ts'

/** Symbols in static/icons.svg. */
export type IconName =
  | 'home'
  | 'sale'
  | 'till'
  | 'bag'
  | 'box'
  | 'people'
  | 'truck'
  | 'in'
  | 'out'
  | 'plug'
  | 'shield'
  | 'gear'
  | 'menu'
  | 'more'
  | 'close'
  | 'back'
  | 'next'
  | 'user'
  | 'exit'
  | 'plus'
  | 'search'
  | 'filter'
  | 'download'
  | 'print'
  | 'check'
  | 'todo'
  | 'alert'
  | 'clock'
  | 'key'
  | 'chart'
  | 'sort'
  | 'brand'

/** A decorative icon beside a text of the same meaning; hidden from screen readers. */
export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg class="icon" aria-hidden="true">
    <use href={`${asset('icons.svg')}#${name}`} />
  </svg>
)
