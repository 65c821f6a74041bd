/** `wrong`: a server would not start, or not do its work. `beware`: it would, but not as well as it could. */
export interface Finding {
  readonly what: string;
  readonly state: 'well' | 'beware' | 'wrong';
  readonly message: string;
}

export const well = (what: string, message: string): Finding => ({ what, state: 'well', message });
export const beware = (what: string, message: string): Finding => ({ what, state: 'beware', message });
export const wrong = (what: string, message: string): Finding => ({ what, state: 'wrong', message });
