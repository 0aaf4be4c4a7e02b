"""The values of NEON's thesis, as its text and tables have them.

L. Schneidenbach: The Benefits of One-Sided Communication Interfaces for Cluster Computing, University of Potsdam, 2009.
Times of the cellular automaton are seconds of 30,000 iterations; per_iteration() makes them us of one.
"""

NO_VALUES = "figure, no values in the text"


def per_iteration(seconds):
    return seconds / 30000 * 1e6


# 8 nodes, Gigabit Ethernet, 4104 B. {lines: {way: (seconds, percent of communication)}}
TABLE_5_1 = {
    20: {"sendrecv": (29.97, 83), "isend": (15.22, 67), "pscw": (29.82, 83)},
    1024: {"sendrecv": (379.72, 9), "isend": (356.74, 1.8), "pscw": (371.56, 6.5)},
}
# Gigabit Ethernet. {way: (us, MiB/s of 1 KB, MiB/s of 1 MB)}
TABLE_5_2 = {"latency": (40.75, 15.27, 88.01), "pscw": (50.81, 12.20, 89.22), "announced": (46.71, 9.53, 87.49)}
# 4 nodes, Gigabit Ethernet. {lines: {bytes: (two-sided, MPI-2, NEON)}}
TABLE_5_3 = {
    4: {136: (1.70, 3.30, 2.83), 520: (2.97, 5.30, 3.77), 4104: (7.84, 10.64, 8.85), 16392: (23.09, 29.45, 23.53)},
    16: {136: (1.70, 3.18, 2.92), 520: (2.99, 5.22, 3.79), 4104: (8.70, 13.65, 9.51), 16392: (33.53, 42.16, 35.43)},
    128: {136: (2.27, 3.87, 2.89), 520: (5.58, 8.35, 6.62), 4104: (51.07, 55.74, 52.57),
          16392: (154.94, 162.75, 157.22)},
    512: {136: (5.58, 7.93, 6.16), 520: (20.57, 24.21, 21.38), 4104: (155.59, 161.86, 156.09),
          16392: (563.83, 571.37, 557.64)},
}  # fmt: skip
# InfiniBand, 1024 B, us of an iteration. {lines: (MPI-2, NEON)}
TABLE_5_4 = {10: (48.4, 30.9), 100: (177, 147), 1000: (1460, 1430)}
FIGURE_5_6 = NO_VALUES + ", but: 25 us or 2 % less with the completion in the middle (MPI-2, InfiniBand, 1000 lines)"
# {least credit: (drops, answer time, burst length, product)}
TABLE_C_1 = {
    "equal": {
        10: (133.06, 541538, 6249, 1), 15: (149.64, 494667, 6841, 0.938372), 20: (149.22, 497269, 6553, 0.982002),
        25: (167.42, 456509, 5727, 1.15735), 30: (164.64, 449158, 5979, 1.07261), 35: (183.6, 401697, 5379, 1.18906),
        40: (189.18, 403385, 5161, 1.28232),
    },
    "unequal": {
        10: (278.44, 683909, 1300, 1), 15: (316.28, 630916, 1263, 1.07858), 20: (304.26, 629395, 1339, 0.97634),
        25: (334.58, 573616, 1309, 1.00091), 30: (332.34, 566432, 1186, 1.08358), 35: (374.96, 512891, 1115, 1.17747),
        40: (364.44, 511429, 1161, 1.09595),
    },
}  # fmt: skip
# {algorithm: (drops, queue, answer time, queue ratio, drop-time)}
TABLE_C_2 = {
    "plain": (162, 52.0, 551539, 1.009, 0.8368), "lwm": (164, 51.9, 549688, 0.968, 0.8443),
    "soft": (153, 49.9, 532874, 1.019, 0.7636), "dlsoft": (210, 40.6, 428104, 1.012, 0.8420),
    "dpr": (145, 48.2, 513361, 0.996, 0.699), "wrr": (203, 49.0, 525986, 1.054, 1.0),
}  # fmt: skip
# The same with inexact weights. The error is 5 or 10 %: the text names both, the table neither.
TABLE_C_3 = {
    "plain": (162, 52.0, 551539, 1.009, 0.2642), "lwm": (164, 51.9, 549688, 0.968, 0.2665),
    "soft": (153, 49.9, 532874, 1.019, 0.2410), "dlsoft": (210, 40.6, 428104, 1.012, 0.266),
    "dpr": (145, 48.2, 513361, 0.997, 0.221), "wrr": (645, 50.7, 524385, 5.290, 1.0),
}  # fmt: skip
TABLE_C_4 = {
    "plain": (314, 69.2, 714531, 1.941, 1.963), "lwm": (332, 68.4, 706006, 2.016, 2.0546),
    "soft": (245, 63.1, 652111, 1.451, 1.3973), "dlsoft": (309, 49.7, 518468, 1.422, 1.4031),
    "dpr": (196, 56.4, 593099, 1.387, 1.0183), "wrr": (219, 48.2, 520337, 0.900, 1.0),
}  # fmt: skip
TABLE_C_5 = {
    "plain": (314, 69.2, 714531, 1.941, 1.963), "dpr": (196, 56.4, 593099, 1.387, 1.0183),
    "wrr": (219, 48.2, 520337, 0.900, 1.0), "wrr 5 %": (355, 42.8, 451034, 0.3086, 1.4011),
    "wrr 10 %": (627, 43.2, 453568, 0.1289, 2.4897),
}  # fmt: skip
