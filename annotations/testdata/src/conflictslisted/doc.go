package conflictslisted // want package:"effects"
