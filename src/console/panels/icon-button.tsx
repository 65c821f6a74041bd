import type { ComponentProps } from 'react';
import { Icon, type IconName } from './icon.tsx';

interface IconButtonProps extends Omit<ComponentProps<'button'>, 'children' | 'type'> {
  readonly icon: IconName;
  /** What it does, for its name and its hint. */
  readonly label: string;
}

export function IconButton({ icon, label, className = '', ...others }: IconButtonProps) {
  return (
    <button type="button" className={`icon-button ${className}`} aria-label={label} title={label} {...others}>
      <Icon name={icon} />
    </button>
  );
}
