import { asset } from '../assets.ts'

/** The signs in static/icons.svg. */
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

/** A sign beside words that say the same: nobody is told of it who does not see it. */
export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg class="icon" aria-hidden="true">
    <use href={`${asset('icons.svg')}#${name}`} />
  </svg>
)
