"""One reader per format: from a head to a grant.

Above: `reading`. Below: the head, the names and the model.
"""
